"""Patience: how long to wait for a network, and when to give up."""

import random
from dataclasses import dataclass

LONGEST_WAIT_S = 600.0  # what a server may ask for; more is an answer of another day


@dataclass(frozen=True, slots=True)
class Patience:
    """Waits grow from `first_s` by doubling to `most_s`; `tries` in a row may fail."""

    tries: int = 10
    first_s: float = 1.0
    most_s: float = 60.0
    stall_s: float = 10.0  # without a byte, until the connection is given up
    progress_bytes: int = 65536  # that many new bytes, and the count of failures starts anew


PATIENCE = Patience()


class Backoff:
    """Counts failures in a row and says how long to wait after each."""

    def __init__(self, patience: Patience, rng: random.Random | None = None) -> None:
        self.patience = patience
        self.failures = 0
        self._rng = rng or random.Random()
        self._progress = 0

    def progressed(self, count: int) -> None:
        """`count` bytes came."""
        self._progress += count
        if self._progress >= self.patience.progress_bytes:
            self.failures = 0

    def failed(self, asked_s: float | None = None) -> float | None:
        """Seconds to wait now, at least the server's `asked_s`; None: give up."""
        self.failures += 1
        self._progress = 0
        if self.failures >= self.patience.tries or (asked_s or 0.0) > LONGEST_WAIT_S:
            return None
        doubled = self.patience.first_s * 2.0 ** (self.failures - 1)
        jittered = min(doubled, self.patience.most_s) * self._rng.uniform(0.5, 1.0)
        return max(jittered, asked_s or 0.0)
