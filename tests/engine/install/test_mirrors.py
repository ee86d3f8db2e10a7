"""Where the hub fails, a mirror of the same container goes on with what has arrived."""

from pathlib import Path

import pytest

from engine.container.origin import read_origin
from engine.install.protocol import Discarded, Done, Event, Failed, Notice
from engine.install.stop import Stop
from tests.engine.fake_hub import FakeHub
from tests.engine.install.conftest import MODEL, Installer, arrived, files_of


def test_a_hub_that_cannot_be_reached_is_done_without(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    mirrors = (hub.mirror("gone", container / "nowhere"), hub.mirror("tiny", container))
    hub.fail("/api/models", "status", status=503, times=10**6)
    assert isinstance(installer.run(MODEL, mirrors=mirrors), Done)
    assert files_of(installer.target) == files_of(container)
    said = [event.message for event in installer.heard(Notice) if isinstance(event, Notice)]
    assert "Going on from 127.0.0.1." in said[0]
    origin = read_origin(installer.target)
    assert origin is not None
    assert origin.source == MODEL  # it is still the same model, by its one name


def test_what_the_hub_has_sent_does_not_come_again(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    kept: set[str] = set()

    class Watched(list[Event]):
        def append(self, event: Event) -> None:
            super().append(event)
            if isinstance(event, Notice):
                kept.update(arrived(installer.target, container))
                hub.requests.clear()

    installer.events = Watched()
    hub.add(MODEL, container)
    mirror = hub.mirror("tiny", container)
    hub.fail("layer_03", "status", status=503, times=4)
    assert isinstance(installer.run(MODEL, mirrors=(mirror,)), Done)
    assert files_of(installer.target) == files_of(container)
    assert installer.heard(Notice)
    assert not {r.path for r in hub.requests if r.span >= 50_000} & kept


def test_a_repository_that_is_gone_is_done_without(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    assert isinstance(installer.run(MODEL, mirrors=(hub.mirror("tiny", container),)), Done)


def test_the_token_does_not_go_to_a_mirror(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    mirror = hub.mirror("tiny", container)
    assert isinstance(installer.run(MODEL, mirrors=(mirror,), token="hf_secret"), Done)
    told = {r.host for r in hub.requests if r.authorization}
    assert told == {"hub"}


def test_none_of_them_can_be_reached(hub: FakeHub, container: Path, installer: Installer) -> None:
    mirrors = (hub.mirror("tiny", container), hub.mirror("gone", container / "nowhere"))
    hub.fail("manifest.json", "status", status=503, times=10**6)
    outcome = installer.run(MODEL, mirrors=mirrors)
    assert isinstance(outcome, Failed)
    assert outcome.kind == "ModelNotFound"  # what the hub said of it
    assert not installer.target.exists()


@pytest.mark.parametrize("before", [True, False])
def test_a_cancel_is_heard_at_every_source(
    hub: FakeHub, container: Path, installer: Installer, before: bool
) -> None:
    mirror = hub.mirror("tiny", container)
    stop = Stop()
    if before:
        stop.ask("cancel")
    hub.on_bytes = lambda served: stop.ask("cancel")
    assert isinstance(installer.run(MODEL, mirrors=(mirror,), stop=stop), Discarded)
    assert not installer.target.exists()
