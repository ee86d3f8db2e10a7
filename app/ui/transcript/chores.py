"""Chores: small pieces of work that can wait a moment, done one after another between events."""

from collections.abc import Callable, Hashable
from time import perf_counter

from PySide6.QtCore import QObject, QTimer

SLICE_S = 0.004


class Chores(QObject):
    """Does what it is given, in order, a few milliseconds at a time."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._waiting: dict[Hashable, Callable[[], None]] = {}
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._work)

    @property
    def is_done(self) -> bool:
        return not self._waiting

    def add(self, key: Hashable, chore: Callable[[], None]) -> None:
        """Do this soon; what waits under the same key is replaced."""
        self._waiting[key] = chore
        if not self._timer.isActive():
            self._timer.start(0)

    def _work(self) -> None:
        until = perf_counter() + SLICE_S
        while self._waiting and perf_counter() < until:
            key = next(iter(self._waiting))
            self._waiting.pop(key)()
        if self._waiting:
            self._timer.start(0)
