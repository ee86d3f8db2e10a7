"""What arrived in one folder goes on in another: nothing comes again, nothing is left behind."""

import os
from pathlib import Path

import pytest

from engine.container.container import JOURNAL, MANIFEST
from engine.container.durable import TEMPORARY
from engine.container.origin import read_origin
from engine.errors import NotEnoughDisk
from engine.install import move
from engine.install.claim import Claim
from engine.install.protocol import Discarded, Done, Failed, Paused, Progress
from engine.install.stop import Stop
from tests.engine.fake_hub import FakeHub
from tests.engine.install.conftest import CHECKPOINT, MODEL, Installer, arrived, files_of

SOURCES = [MODEL, CHECKPOINT]


@pytest.fixture(params=["renamed", "copied"])
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Within a volume, or as if to another."""
    monkeypatch.setattr(move, "_is_beside", lambda one, other: request.param == "renamed")
    return str(request.param)


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(move, "_is_beside", lambda one, other: False)


def begun(hub: FakeHub, folder: Path, source: str, container: Path, checkpoint: Path) -> Installer:
    """An installation that has got most of its bytes, and no more."""
    hub.add(source, container if source == MODEL else checkpoint)
    last = "layer_03" if source == MODEL else "model-00003"
    hub.fail(last, "status", status=503, times=10**6, host="storage", least=50_000)
    installer = Installer(folder)
    assert isinstance(installer.run(source), Failed)
    hub.faults.clear()
    hub.requests.clear()
    return installer


@pytest.mark.parametrize("source", SOURCES)
def test_it_goes_on_in_another_folder(
    hub: FakeHub, container: Path, checkpoint: Path, quick_disk: Path, source: str, how: str
) -> None:
    first = begun(hub, quick_disk / "first", source, container, checkpoint)
    whole = Installer(quick_disk / "whole")
    assert isinstance(whole.run(source), Done)
    kept = arrived(first.target, container if source == MODEL else checkpoint)
    hub.requests.clear()
    second = Installer(quick_disk / "elsewhere" / "second")
    assert isinstance(second.run(source, earlier=str(first.target)), Done)
    assert files_of(second.target) == files_of(whole.target)
    assert not first.target.exists()
    assert not {r.path for r in hub.requests if r.span >= 50_000} & kept


def test_what_is_not_ours_stays(hub: FakeHub, container: Path, quick_disk: Path, how: str) -> None:
    first = begun(hub, quick_disk / "first", MODEL, container, container)
    (first.target / "my-notes.txt").write_text("mine")
    second = Installer(quick_disk / "second")
    assert isinstance(second.run(MODEL, earlier=str(first.target)), Done)
    assert files_of(first.target) == {"my-notes.txt": b"mine"}


def test_a_folder_without_an_installation_of_this_is_left_alone(
    hub: FakeHub, container: Path, quick_disk: Path
) -> None:
    hub.add(MODEL, container)
    other = quick_disk / "other"
    other.mkdir()
    (other / "config.json").write_text("mine")
    for earlier in (other, quick_disk / "nowhere"):
        installer = Installer(quick_disk / f"target-{earlier.name}")
        assert isinstance(installer.run(MODEL, earlier=str(earlier)), Done)
    assert files_of(other) == {"config.json": b"mine"}
    assert not (quick_disk / "nowhere").exists()


def test_nothing_is_moved_into_a_folder_that_holds_something_else(
    hub: FakeHub, container: Path, quick_disk: Path
) -> None:
    first = begun(hub, quick_disk / "first", MODEL, container, container)
    second = Installer(quick_disk / "second")
    second.target.mkdir()
    (second.target / "config.json").write_text("mine")
    outcome = second.run(MODEL, earlier=str(first.target))
    assert isinstance(outcome, Failed)
    assert "holds 'config.json'" in outcome.message
    assert files_of(second.target) == {"config.json": b"mine"}
    assert read_origin(second.target) is None
    assert first.target.exists()


@pytest.mark.usefixtures("copied")
@pytest.mark.parametrize("number", range(1, 12, 2))
def test_a_copy_that_is_cut_off_is_taken_up(
    hub: FakeHub,
    container: Path,
    checkpoint: Path,
    quick_disk: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
) -> None:
    """Whichever file it is: all of them stand in the first folder until all are in the second."""
    source = SOURCES[number % 4 // 2]
    first = begun(hub, quick_disk / "first", source, container, checkpoint)
    before = files_of(first.target)
    kept = arrived(first.target, container if source == MODEL else checkpoint)
    written = 0

    def full_at(path: Path, parts: object) -> None:
        nonlocal written
        written += 1
        if written == number:
            raise NotEnoughDisk("Full.", "Free some.")
        durable_write_at(path, parts)  # type: ignore[arg-type]

    durable_write_at = move.write_at
    second = Installer(quick_disk / "second")
    with monkeypatch.context() as patch:
        patch.setattr(move, "write_at", full_at)
        assert isinstance(second.run(source, earlier=str(first.target)), Paused)
    assert files_of(first.target) == before
    assert not (second.target / JOURNAL).exists()
    assert not (second.target / MANIFEST).exists()
    hub.requests.clear()
    assert isinstance(second.run(source, earlier=str(first.target)), Done)
    assert not first.target.exists()
    assert not {r.path for r in hub.requests if r.span >= 50_000} & kept
    assert not list(second.target.rglob(f"*{TEMPORARY}"))


@pytest.mark.usefixtures("copied")
def test_a_disk_that_is_too_small_is_refused_before_anything_is_copied(
    hub: FakeHub, container: Path, quick_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = begun(hub, quick_disk / "first", MODEL, container, container)
    monkeypatch.setattr("engine.install.room.wanted_room", lambda size: 10**15)
    second = Installer(quick_disk / "second")
    outcome = second.run(MODEL, earlier=str(first.target), anyway=False)
    assert isinstance(outcome, Paused)
    assert outcome.reason == "disk"
    assert outcome.wanted_free_bytes > 10**14
    assert first.target.exists()
    assert not list(second.target.rglob("*.bin"))


@pytest.mark.usefixtures("copied")
def test_a_cancel_while_it_moves_deletes_the_copy_alone(
    hub: FakeHub, container: Path, quick_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = begun(hub, quick_disk / "first", MODEL, container, container)
    before = files_of(first.target)
    stop = Stop()
    durable_write_at = move.write_at

    def cancel(path: Path, parts: object) -> None:
        stop.ask("cancel")
        durable_write_at(path, parts)  # type: ignore[arg-type]

    monkeypatch.setattr(move, "write_at", cancel)
    second = Installer(quick_disk / "second")
    assert isinstance(second.run(MODEL, earlier=str(first.target), stop=stop), Discarded)
    assert not second.target.exists()
    assert files_of(first.target) == before


def test_a_folder_at_which_another_is_at_work_is_not_moved(
    hub: FakeHub, container: Path, quick_disk: Path
) -> None:
    first = begun(hub, quick_disk / "first", MODEL, container, container)
    with Claim(first.target):
        outcome = Installer(quick_disk / "second").run(MODEL, earlier=str(first.target))
    assert isinstance(outcome, Failed)
    assert f"Process {os.getpid()} is still at work" in outcome.message


def test_holes_are_not_copied(quick_disk: Path) -> None:
    """What has not arrived takes no room on the new disk either."""
    path = quick_disk / "sparse"
    with path.open("wb") as file:
        file.truncate(3 << 20)
        file.seek(1 << 20)
        file.write(b"x" * 4096)
    extents = list(move._extents(path))
    assert sum(stop - start for start, stop in extents) <= 1 << 20
    assert any(start <= 1 << 20 and stop >= (1 << 20) + 4096 for start, stop in extents)


@pytest.mark.usefixtures("copied")
def test_moving_is_told(
    hub: FakeHub, container: Path, quick_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.install.pulse.BEAT_S", 0.001)
    first = begun(hub, quick_disk / "first", MODEL, container, container)
    second = Installer(quick_disk / "second")
    second.run(MODEL, earlier=str(first.target))
    phases = [event.phase for event in second.heard(Progress) if isinstance(event, Progress)]
    assert "moving" in phases
