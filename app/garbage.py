"""GarbageTimer: cyclic garbage is collected on the UI thread, between events, and only there.

Python collects when enough objects have been made: on whatever thread makes them, and within
whatever call, a destructor of Qt too. A cycle that holds QObjects would be destroyed on the wrong
thread, or below the feet of its own child that is being destroyed; either ends the process.
"""

import gc

from PySide6.QtCore import QObject, QTimer

INTERVAL_MS = 1000


class GarbageTimer(QObject):
    """From now until `close`, collects by Python's own thresholds, when the event loop turns."""

    def __init__(self, parent: QObject | None = None, interval_ms: int = INTERVAL_MS) -> None:
        super().__init__(parent)
        gc.disable()
        gc.freeze()  # what lives now, mostly code, will never be garbage
        self._timer = QTimer(self, interval=interval_ms)
        self._timer.timeout.connect(collect_what_is_due)
        self._timer.start()

    def close(self) -> None:
        """Let Python collect by itself again."""
        self._timer.stop()
        gc.unfreeze()
        gc.enable()


def collect_what_is_due() -> None:
    """The oldest generation whose count has passed its threshold, and the younger ones with it."""
    counts, thresholds = gc.get_count(), gc.get_threshold()
    for generation in reversed(range(3)):
        if counts[generation] > thresholds[generation]:
            gc.collect(generation)
            return
