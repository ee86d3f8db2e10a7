"""Pressure: how short memory is, from whatever the system tells and from what can be asked.

`Pressure` is the one seam: every source tells it a level, from any thread. An event says that it
was so just then; it counts for a while and expires by itself, so nothing depends on an "all clear"
that may never come. Two kinds are kept apart: `on_pressure`, the system's own judgement, and
`on_stall`, which says that programs waited for memory but not that the machine lacks it: one that
thrashes within a limit of its own stalls while gigabytes are free. Knows nothing of models.
"""

import logging
import sys
import threading
import time
from collections.abc import Callable
from typing import Protocol

from engine.memory import linux, machine
from engine.memory.dispatch import DispatchSource
from engine.memory.stalls import StallTriggers
from engine.protocol import PressureLevel

HOLD_S = 5.0  # two windows of Linux's triggers, and some
SEVERITY: dict[PressureLevel, int] = {"normal": 0, "warning": 1, "critical": 2}

log = logging.getLogger(__name__)


class PressureSource(Protocol):
    """Something that tells of pressure until it is closed."""

    def close(self) -> None:
        """Nothing is called after that."""


class Pressure:
    """The level in force, and whether there is news of it."""

    def __init__(
        self,
        asked: Callable[[], PressureLevel | None] = machine.reported_level,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._asked = asked
        self._clock = clock
        self._until: dict[PressureLevel, float] = {}  # level -> when its last event expires
        self._stalled_until: dict[PressureLevel, float] = {}
        self._lock = threading.Lock()
        self._news = False

    def on_pressure(self, level: PressureLevel) -> None:
        """The system finds so. That all is well again is not believed: it shows."""
        self._note(self._until, level)

    def on_stall(self, level: PressureLevel) -> None:
        """Some programs (warning) or all (critical) stood still for want of memory."""
        self._note(self._stalled_until, level)

    def take_news(self) -> bool:
        """Whether an event has come since the last call."""
        with self._lock:
            news, self._news = self._news, False
            return news

    def level(self) -> PressureLevel:
        """The worst of what was told lately and of what the system says when asked."""
        return max(self._told(self._until), self._asked() or "normal", key=SEVERITY.__getitem__)

    def stalls(self) -> PressureLevel:
        """The worst stall that was told lately."""
        return self._told(self._stalled_until)

    def _note(self, events: dict[PressureLevel, float], level: PressureLevel) -> None:
        if level == "normal":
            return
        with self._lock:
            events[level] = self._clock() + HOLD_S
            self._news = True

    def _told(self, events: dict[PressureLevel, float]) -> PressureLevel:
        now = self._clock()
        with self._lock:
            told = [level for level, until in events.items() if now < until]
        return max(told, default="normal", key=SEVERITY.__getitem__)


def open_source(pressure: Pressure) -> PressureSource | None:
    """This system's events; None where it has none, which the log tells: then polling is all."""
    try:
        if sys.platform == "darwin":
            return DispatchSource(pressure.on_pressure)
        return StallTriggers(linux.pressure_file(), pressure.on_stall)
    except (OSError, AttributeError, ValueError) as error:
        log.info("memory pressure is polled only: %s", error)
        return None
