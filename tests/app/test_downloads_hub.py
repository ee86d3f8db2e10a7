"""A model from a hub into the list of what can be chosen, with the real download process."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.download import Installed
from app.installed_models import DEMO, installed_models
from app.keychain import Keychain
from app.workspace import Workspace
from tests.app.conftest import Heard, WaitFor
from tests.app.test_keychain import FakeVault
from tests.engine.fake_hub import FakeHub

SOURCE = "acme/Mini-qpack"
WAIT_MS = 120_000  # starting a process that speaks to the hub takes seconds where all is busy

pytestmark = pytest.mark.slow


@pytest.fixture
def wait_for(qtbot: QtBot) -> WaitFor:
    """More patient than usual."""

    def wait(holds: Callable[[], object]) -> None:
        qtbot.waitUntil(lambda: bool(holds()), timeout=WAIT_MS)

    return wait


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    with FakeHub() as hub:
        hub.add(SOURCE, DEMO)
        yield hub


@pytest.fixture
def workspace(hub: FakeHub, tmp_path: Path, qapp: object) -> Iterator[Workspace]:
    made = opened(hub, tmp_path)
    yield made
    made.close()


def opened(hub: FakeHub, data: Path) -> Workspace:
    workspace = Workspace(data, keychain=Keychain(FakeVault()))
    workspace.settings.update(endpoint=hub.endpoint)
    return workspace


def test_from_a_search_to_a_model_that_can_be_chosen(
    workspace: Workspace, wait_for: WaitFor
) -> None:
    found, offered = Heard(workspace.hub.found), Heard(workspace.hub.offered)
    listed, arrived = Heard(workspace.installed.changed), Heard(workspace.downloads.installed)
    workspace.hub.search("mini")
    wait_for(lambda: found.told)
    query, (hit,) = found.last
    assert (query, hit.source) == ("mini", SOURCE)

    workspace.hub.look_up(hit.source)
    wait_for(lambda: offered.told)
    offer = offered.last
    assert offer.download_bytes > 1_000_000

    workspace.downloads.add(offer.source, offer.name, offer.variant)
    wait_for(lambda: arrived.told)
    wait_for(lambda: listed.told and len(listed.last) == 2)
    model = next(model for model in listed.last if not model.is_demo)
    assert isinstance(model, Installed)
    assert (model.state, model.path, model.source) == ("ready", arrived.last, SOURCE)
    assert model.path in [m.path for m in installed_models([Path(model.path).parent])]


def test_what_a_quit_interrupts_goes_on_at_the_next_start(
    hub: FakeHub, tmp_path: Path, qapp: object, wait_for: WaitFor
) -> None:
    hub.fail("", "stall", after=1000)  # of the first life's, which nobody waits for
    before = opened(hub, tmp_path)
    before.downloads.add(SOURCE, "Mini")
    wait_for(lambda: before.downloads.downloads[0].progress.total)
    before.close()

    after = opened(hub, tmp_path)
    arrived = Heard(after.downloads.installed)
    wait_for(lambda: arrived.told)
    assert after.downloads.downloads == ()
    after.close()
