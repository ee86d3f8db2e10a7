"""RoomWatch: downloads that a full or missing disk holds up, and the moment when it no longer does.

Only what was seen to lack room is told of: where the figures say that there is enough and the disk
says that there is not (a quota), trying again by itself would never end.
Threading: lives on the UI thread, and so does its signal; disks are looked at on another.
"""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from app.download import Download
from app.task import Task
from engine.container.volume import is_unplugged, nearest

LOOK_MS = 5000


@dataclass(frozen=True, slots=True)
class Held:
    """A download into `target` that waits for `free_bytes` on its disk, or (0) for the disk."""

    id: str
    target: str
    free_bytes: int


class RoomWatch(QObject):
    """Looks every few seconds, while there is something to look for.

    Signals: see the comment of each.
    """

    # str: id of a download that can go on
    ready = Signal(str)

    def __init__(self, parent: QObject, look_ms: int = LOOK_MS) -> None:
        super().__init__(parent)
        self._held: tuple[Held, ...] = ()
        self._lacking: set[str] = set()
        self._task: Task | None = None
        self._timer = QTimer(self, interval=look_ms)
        self._timer.timeout.connect(self._look)

    def watch(self, held: tuple[Held, ...]) -> None:
        """These and no others from now on."""
        if held == self._held:
            return
        self._held = held
        self._lacking &= {one.id for one in held}
        if not held:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()
            self._look()

    def expect(self, ids: Iterable[str]) -> None:
        """These lacked room in an earlier life."""
        self._lacking |= set(ids)

    def close(self) -> None:
        """Nothing is told any more."""
        self._timer.stop()
        if self._task is not None:
            self._task.close()

    def _look(self) -> None:
        if self._task is None:
            self._task = Task(partial(_looked_at, self._held), self._take, "room", self)

    def _take(self, found: dict[Held, bool]) -> None:
        self._task = None
        for held in self._held:
            if not found.get(held, True):
                self._lacking.add(held.id)
            elif held in found and held.id in self._lacking:
                self._lacking.discard(held.id)
                self.ready.emit(held.id)


def held_up(downloads: Iterable[Download]) -> tuple[Held, ...]:
    """Those that a disk holds up, and no person."""
    return tuple(
        Held(d.id, d.target, d.trouble.wanted_free_bytes)
        for d in downloads
        if d.state == "failed" and d.trouble and d.trouble.help in ("room", "volume")
    )


def _looked_at(held: tuple[Held, ...]) -> dict[Held, bool]:
    """On the thread."""
    return {one: has_room(one) for one in held}


def has_room(held: Held) -> bool:
    """Whether its disk is here and has the room it waits for."""
    target = Path(held.target)
    try:
        if is_unplugged(target) or not (held.free_bytes or target.parent.is_dir()):
            return False
        return shutil.disk_usage(nearest(target)).free >= held.free_bytes
    except OSError:
        return False  # the disk is just going away
