"""Pause, cancel, and two that want the same: who keeps what."""

import threading
from pathlib import Path

import pytest

from engine.container.container import MANIFEST
from engine.install.claim import Claim, holder
from engine.install.protocol import Discarded, Done, Failed, Joined, Paused, Progress
from engine.install.stop import Stop
from tests.engine.fake_hub import FakeHub
from tests.engine.install.conftest import CHECKPOINT, HASTY, MODEL, Installer, files_of

DEADLINE_S = 60


class Running:
    """An installation on a thread of its own, which hangs in the network from some byte on."""

    def __init__(self, hub: FakeHub, installer: Installer, source: str, after: int) -> None:
        self.stop = Stop()
        self._outcome: list[object] = []
        hub.fail("", "stall", after=70_000, times=10**6, least=80_000)
        reached = threading.Event()
        hub.on_bytes = lambda served: reached.set() if served >= after else None
        how = {"stop": self.stop}
        run = lambda: self._outcome.append(installer.run(source, **how))  # noqa: E731
        self._thread = threading.Thread(target=run)
        self._thread.start()
        assert reached.wait(DEADLINE_S)

    def outcome(self) -> object:
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive()
        return self._outcome[0]


@pytest.mark.parametrize("source", [MODEL, CHECKPOINT])
def test_pause_keeps_and_goes_on(
    hub: FakeHub, container: Path, checkpoint: Path, installer: Installer, source: str
) -> None:
    hub.add(source, container if source == MODEL else checkpoint)
    running = Running(hub, installer, source, after=70_000)
    running.stop.ask("pause")
    outcome = running.outcome()
    assert isinstance(outcome, Paused)
    assert outcome.reason == "asked"
    assert holder(installer.target) is None
    assert not (installer.target / MANIFEST).exists()
    hub.faults.clear()
    assert isinstance(installer.run(source), Done)


def test_a_pause_costs_no_byte_that_is_on_the_disk(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    running = Running(hub, installer, MODEL, after=3 * 70_000)
    running.stop.ask("pause")
    running.outcome()
    sizes = {p.name: p.stat().st_size for p in installer.target.rglob("layer_*.bin")}
    hub.faults.clear()
    hub.requests.clear()
    assert isinstance(installer.run(MODEL), Done)
    assert files_of(installer.target) == files_of(container)
    for name, size in sizes.items():
        assert [r.start for r in hub.asked(name)] == [size]


@pytest.mark.parametrize("source", [MODEL, CHECKPOINT])
def test_cancel_deletes_everything_and_says_how_much(
    hub: FakeHub, container: Path, checkpoint: Path, installer: Installer, source: str
) -> None:
    hub.add(source, container if source == MODEL else checkpoint)
    running = Running(hub, installer, source, after=70_000)
    running.stop.ask("cancel")
    outcome = running.outcome()
    assert isinstance(outcome, Discarded)
    assert outcome.freed_bytes > 0
    assert not installer.target.exists()


def test_cancel_leaves_what_is_not_ours(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    running = Running(hub, installer, MODEL, after=70_000)
    (installer.target / "my-notes.txt").write_text("keep me")
    running.stop.ask("cancel")
    assert isinstance(running.outcome(), Discarded)
    assert files_of(installer.target) == {"my-notes.txt": b"keep me"}


def test_cancel_before_it_began_touches_nothing(hub: FakeHub, installer: Installer) -> None:
    """A folder that was named by mistake may hold files with a model's names."""
    installer.target.mkdir(parents=True)
    (installer.target / "config.json").write_text("my own")
    stop = Stop()
    stop.ask("cancel")
    assert isinstance(installer.run(MODEL, stop=stop), Discarded | Failed)
    assert files_of(installer.target) == {"config.json": b"my own"}


def test_cancelling_a_repair_throws_no_model_away(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    installer.run(MODEL)
    stop = Stop()
    stop.ask("cancel")
    assert isinstance(installer.run(MODEL, stop=stop, repair=True), Paused)
    assert files_of(installer.target) == files_of(container)


def test_cancelling_one_leaves_the_other_alone(
    hub: FakeHub, container: Path, checkpoint: Path, tmp_path: Path
) -> None:
    hub.add(MODEL, container)
    hub.add(CHECKPOINT, checkpoint)
    first, second = Installer(tmp_path / "first"), Installer(tmp_path / "second")
    one = Running(hub, first, MODEL, after=1)
    other = Running(hub, second, CHECKPOINT, after=1)
    one.stop.ask("cancel")
    assert isinstance(one.outcome(), Discarded)
    hub.faults.clear()
    hub.resume.set()
    assert isinstance(other.outcome(), Done)


def test_a_second_request_joins_the_first(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    running = Running(hub, installer, MODEL, after=70_000)
    second = Installer(installer.target)
    watching: list[object] = []
    stop = Stop()
    thread = threading.Thread(target=lambda: watching.append(second.run(MODEL, stop=stop)))
    thread.start()
    hub.faults.clear()
    hub.resume.set()
    assert isinstance(running.outcome(), Done)
    thread.join(DEADLINE_S)
    assert [type(outcome) for outcome in watching] == [Done]
    assert len(second.heard(Joined)) <= 1
    assert files_of(installer.target) == files_of(container)


def test_a_joined_one_hears_the_progress_and_may_leave(
    hub: FakeHub, container: Path, installer: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    installer.target.mkdir(parents=True)
    stop = Stop()
    said = {"phase": "downloading", "done": 3, "total": 9, "bytes_per_s": 1.5, "seconds_left": 4.0}
    monkeypatch.setattr("engine.install.follow.LOOK_S", 0.01)
    with Claim(installer.target) as claim:
        claim.tell(said)
        thread = threading.Timer(0.3, lambda: stop.ask("cancel"))
        thread.start()
        outcome = installer.run(MODEL, stop=stop)
        thread.join()
    assert isinstance(outcome, Paused)
    assert "goes on" in outcome.message
    assert installer.heard(Progress)[0] == Progress("downloading", 3, 9, 1.5, 4.0)
    assert hub.requests == []


@pytest.mark.parametrize(("left", "kind"), [(True, Paused), (False, Discarded)])
def test_a_joined_one_hears_how_the_other_ended(
    installer: Installer, left: bool, kind: type
) -> None:
    installer.target.mkdir(parents=True)
    if left:
        (installer.target / "half").touch()
    claim = Claim(installer.target)
    claim.__enter__()
    outcomes: list[object] = []
    thread = threading.Thread(target=lambda: outcomes.append(installer.run(MODEL)))
    thread.start()
    while not installer.heard(Joined):
        thread.join(0.01)
    claim.__exit__()
    thread.join(DEADLINE_S)
    assert [type(outcome) for outcome in outcomes] == [kind]


def test_a_stalled_download_shows_no_speed(
    hub: FakeHub, container: Path, installer: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.install.tally.WINDOW_S", 0.1)
    monkeypatch.setattr("engine.install.pulse.BEAT_S", 0.05)
    hub.add(MODEL, container)
    hub.fail("layer_01", "stall", times=10**6)
    outcome = installer.run(MODEL, patience=HASTY)
    assert isinstance(outcome, Failed)
    assert "has stopped sending" in outcome.message
    last = installer.heard(Progress)[-1]
    assert isinstance(last, Progress)
    assert (last.bytes_per_s, last.seconds_left) == (0.0, None)
