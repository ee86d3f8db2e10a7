"""ExpertStats: what streaming the experts has cost so far."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass


@dataclass(frozen=True, slots=True)
class ExpertStats:
    """Counts since the start; the difference of two is what happened between."""

    hits: int = 0  # look-ups of an expert that was ready in a slot
    misses: int = 0  # look-ups that had to wait for a read
    bytes_read: int = 0
    wait_s: float = 0.0  # time for which the model stood still until reads were done
    readbacks: int = 0  # waits for a router's choice

    @property
    def hit_rate(self) -> float:
        """Hits per look-up, 0 to 1; 0 without look-ups."""
        return self.hits / max(1, self.hits + self.misses)

    def __add__(self, other: "ExpertStats") -> "ExpertStats":
        pairs = zip(astuple(self), astuple(other), strict=True)
        return ExpertStats(*(a + b for a, b in pairs))

    def __sub__(self, other: "ExpertStats") -> "ExpertStats":
        pairs = zip(astuple(self), astuple(other), strict=True)
        return ExpertStats(*(a - b for a, b in pairs))


@dataclass(slots=True)
class Tally:
    """The running counts behind `ExpertStats`."""

    hits: int = 0
    misses: int = 0
    bytes_read: int = 0
    wait_s: float = 0.0
    readbacks: int = 0

    def stats(self) -> ExpertStats:
        """The counts as they are now."""
        return ExpertStats(self.hits, self.misses, self.bytes_read, self.wait_s, self.readbacks)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the time inside as waited."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.wait_s += time.perf_counter() - started
