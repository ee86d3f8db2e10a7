"""EventInbox: hands what another thread delivers to the UI thread, in batches.

Threading: `put` is called from any thread; `arrived` is emitted on the thread the inbox lives on.
However fast events come, the UI thread is woken at most about thirty times a second, and less
often while it needs longer than a frame for a batch. Deltas of one answer are joined on the way.
"""

import threading
import time
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from engine import protocol as wire

INTERVAL_S = 1 / 30
SLOWEST_S = 0.2


class EventInbox(QObject):
    """A queue from other threads to this object's.

    Signals: see the comment of each.
    """

    # list[tuple[source, event]]: what came since the last time, in order
    arrived = Signal(object)
    _woken = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lock = threading.Lock()
        self._items: list[tuple[Any, Any]] = []
        self.interval_s = INTERVAL_S
        self._emptied_at = -SLOWEST_S
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self.empty)
        self._woken.connect(self._wake)

    def put(self, source: object, event: object) -> None:
        """Add an event; from any thread."""
        with self._lock:
            first = not self._items
            if first or not self._join_last(source, event):
                self._items.append((source, event))
        if first:
            self._woken.emit()

    def empty(self) -> None:
        """Hand out all that is there, now."""
        with self._lock:
            items, self._items = self._items, []
        if not items:
            return
        began = time.monotonic()
        self.arrived.emit(items)
        self._emptied_at = time.monotonic()
        busy = self._emptied_at - began  # leave at least two thirds of the time to the rest
        self.interval_s = min(max(INTERVAL_S, 3 * busy), SLOWEST_S)

    def _wake(self) -> None:
        if self._timer.isActive():
            return
        rest_s = self._emptied_at + self.interval_s - time.monotonic()
        self._timer.start(max(0, int(rest_s * 1000)))

    def _join_last(self, source: object, event: object) -> bool:
        last_source, last = self._items[-1]
        if not isinstance(event, wire.Text | wire.Reasoning) or type(last) is not type(event):
            return False
        if last_source is not source or last.id != event.id:
            return False
        self._items[-1] = (source, type(event)(event.id, last.text + event.text))
        return True
