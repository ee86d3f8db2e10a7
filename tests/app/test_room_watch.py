"""What a disk holds up is told of when the disk no longer does, and only then."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject

from app.download import Download, Trouble
from app.room_watch import Held, RoomWatch, has_room, held_up
from tests.app.conftest import Heard, WaitFor

HELD = Held("a", "/m/a", 1000)


class Disk:
    """As much is free as a test says."""

    def __init__(self) -> None:
        self.free = 0

    def has_room(self, held: Held) -> bool:
        return held.free_bytes <= self.free


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk()
    monkeypatch.setattr("app.room_watch.has_room", disk.has_room)
    return disk


@pytest.fixture
def watch(disk: Disk, qapp: QObject) -> Iterator[RoomWatch]:
    made = RoomWatch(qapp, look_ms=5)
    yield made
    made.close()


def looked(watch: RoomWatch, wait_for: WaitFor) -> None:
    """Until two whole looks are over."""
    for _ in range(2):
        wait_for(lambda: watch._task is not None)
        wait_for(lambda: watch._task is None)


def test_room_is_told_of_once(watch: RoomWatch, disk: Disk, wait_for: WaitFor) -> None:
    ready = Heard(watch.ready)
    watch.watch((HELD, Held("b", "/m/b", 2000)))
    looked(watch, wait_for)
    assert ready.told == []
    disk.free = 1500
    wait_for(lambda: ready.told)
    looked(watch, wait_for)
    assert ready.told == ["a"]


def test_a_disk_that_never_lacked_room_is_not_trusted(
    watch: RoomWatch, disk: Disk, wait_for: WaitFor
) -> None:
    """It said that it was full all the same: a quota."""
    ready = Heard(watch.ready)
    disk.free = 10**12
    watch.watch((HELD,))
    looked(watch, wait_for)
    assert ready.told == []


def test_what_lacked_room_in_an_earlier_life(
    watch: RoomWatch, disk: Disk, wait_for: WaitFor
) -> None:
    ready = Heard(watch.ready)
    disk.free = 10**12
    watch.expect(["a"])
    watch.watch((HELD,))
    wait_for(lambda: ready.told == ["a"])


def test_nothing_held_up_is_nothing_to_look_at(
    watch: RoomWatch, disk: Disk, wait_for: WaitFor
) -> None:
    ready = Heard(watch.ready)
    watch.watch((HELD,))
    looked(watch, wait_for)
    watch.watch(())
    assert not watch._timer.isActive()
    wait_for(lambda: watch._task is None)
    disk.free = 10**12
    watch.watch((HELD,))  # held up anew: it has to be seen to lack room again
    looked(watch, wait_for)
    assert ready.told == []


@pytest.mark.parametrize(
    ("target", "free_bytes", "is_there"),
    [
        ("models/a.qpack", 0, True),
        ("models/a.qpack", 1, True),
        ("models/a.qpack", 10**18, False),
        ("away/a.qpack", 0, False),  # its folder is not there
        ("not/made/yet/a.qpack", 1, True),
        ("/Volumes/Not There/a.qpack", 0, False),
        ("/Volumes/Not There/a.qpack", 1, False),
    ],
)
def test_a_place_with_room(tmp_path: Path, target: str, free_bytes: int, is_there: bool) -> None:
    (tmp_path / "models").mkdir()
    assert has_room(Held("a", str(tmp_path / target), free_bytes)) is is_there


def test_only_what_a_disk_holds_up_is_watched() -> None:
    def download(id: str, state: str, trouble: Trouble | None) -> Download:
        return Download(id, id, "", id, f"/m/{id}", state, trouble=trouble)  # type: ignore[arg-type]

    full = Trouble("Full.", "", "room", wanted_free_bytes=5)
    away = Trouble("Away.", "", "volume")
    downloads = (
        download("full", "failed", full),
        download("away", "failed", away),
        download("by hand", "paused", None),
        download("other", "failed", Trouble("No.")),
        download("goes on", "queued", None),
    )
    assert held_up(downloads) == (Held("full", "/m/full", 5), Held("away", "/m/away", 0))
