"""Flow: gathers what arrives of an answer, and hands it on about thirty times a second.

Less often when showing it takes long, so that a slow machine still answers to its user.
"""

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

from PySide6.QtCore import QObject, QTimer

from app.conversation import AnswerDelta

FLUSH_MS = 33
SLOWEST_MS = 250
_SHARE = 3  # showing may take a third of the time between


class Flow(QObject):
    """Collects deltas; `show` is called with one for each message that grew."""

    def __init__(self, show: Callable[[AnswerDelta], None], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._show = show
        self._waiting: dict[str, list[AnswerDelta]] = {}
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(FLUSH_MS)
        self._timer.timeout.connect(self.flush)

    @property
    def interval_ms(self) -> int:
        return self._timer.interval()

    def push(self, delta: AnswerDelta) -> None:
        """More of an answer arrived."""
        self._waiting.setdefault(delta.message_id, []).append(delta)
        if not self._timer.isActive():
            self._timer.start()

    def flush(self) -> None:
        """Show what arrived."""
        self._timer.stop()
        waiting, self._waiting = self._waiting, {}
        begun = perf_counter()
        for deltas in waiting.values():
            self._show(_joined(deltas))
        spent_ms = int((perf_counter() - begun) * 1000)
        self._timer.setInterval(min(max(FLUSH_MS, spent_ms * _SHARE), SLOWEST_MS))

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    def drop(self) -> None:
        """Forget what was not shown: another conversation is."""
        self._timer.stop()
        self._waiting = {}


def _joined(deltas: list[AnswerDelta]) -> AnswerDelta:
    reasoning = "".join(delta.reasoning for delta in deltas)
    return replace(deltas[0], reasoning=reasoning, text="".join(delta.text for delta in deltas))
