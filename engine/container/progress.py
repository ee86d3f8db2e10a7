"""Progress of a long task over many bytes, and its end where the person no longer wants it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from engine.errors import Cancelled

Phase = Literal["copy", "hash", "compare"]


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` bytes of a phase. A task that goes on starts where it stopped."""

    phase: Phase
    done: int
    total: int


Report = Callable[[Progress], None]


class Meter:
    """Counts bytes and reports them. `advance` raises Cancelled once `cancelled` says so."""

    def __init__(
        self, phase: Phase, total: int, report: Report, cancelled: Callable[[], bool]
    ) -> None:
        self._phase: Phase = phase
        self._done = 0
        self._total = total
        self._report = report
        self._cancelled = cancelled

    def advance(self, count: int) -> None:
        """`count` more bytes are done."""
        if self._cancelled():
            raise Cancelled("Stopped as asked.", "Run it again: what is done stays done.")
        self._done += count
        self._report(Progress(self._phase, self._done, self._total))


def unheard(progress: Progress) -> None:
    """A report that nobody listens to."""


def never() -> bool:
    """A task that nobody cancels."""
    return False
