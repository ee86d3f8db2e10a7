"""Tally: what is done, of how much, and how fast. Written by all threads of an installation."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Literal

from engine.install.protocol import Progress

WINDOW_S = 5.0  # a rate is about now: a stall shows as 0 within this time

Phase = Literal["moving", "downloading", "repacking", "verifying"]


class Rate:
    """Bytes a second over the last few seconds. Not thread-safe."""

    def __init__(self, now: float) -> None:
        self._start = now
        self._recent: deque[tuple[float, int]] = deque()
        self._sum = 0

    def add(self, count: int, now: float) -> None:
        """`count` bytes moved at `now`."""
        self._recent.append((now, count))
        self._sum += count
        self._forget(now)

    def per_s(self, now: float) -> float:
        """The rate at `now`."""
        self._forget(now)
        return self._sum / max(min(WINDOW_S, now - self._start), 1.0)

    def _forget(self, now: float) -> None:
        while self._recent and self._recent[0][0] <= now - WINDOW_S:
            self._sum -= self._recent.popleft()[1]


class Tally:
    """Counts bytes by phase. Going back (a file that has to come again) is a negative count."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self.begin("downloading", 0, 0)

    def begin(self, phase: Phase, total: int, done: int = 0) -> None:
        """Another phase: `done` of `total` bytes are done before it moves any."""
        with self._lock:
            self._phase: Phase = phase
            self._total, self._done = total, done
            self._rate = Rate(self._clock())

    def moved(self, count: int) -> None:
        """`count` bytes are newly done."""
        with self._lock:
            self._done += count
            self._rate.add(count, self._clock())

    def found(self, count: int) -> None:
        """`count` bytes turned out to be done, or (negative) to be worth nothing."""
        with self._lock:
            self._done += count

    def progress(self) -> Progress:
        """As of now."""
        with self._lock:
            rate = self._rate.per_s(self._clock())
            done = max(0, min(self._done, self._total))
            left = (self._total - done) / rate if rate >= 1.0 else None
            return Progress(self._phase, done, self._total, rate, left)
