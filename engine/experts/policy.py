"""Who leaves a layer's slots when room is needed. Knows experts by number; holds no tensors.

A step is one look-up of all the experts that a layer needs at once: in decode, one token.

Which policy: replays (tests/bench/bench_policies.py) of routing recorded from a real model, and of
routing generated to have the locality published for 256 experts, agree that frequency misses less
than recency wherever the slots are few, by up to seven points, and most so with a memory of some
thirty tokens. From about twelve tokens' worth of slots on little is between them: there recency
costs less. A longer memory loses where the topic drifts, as published systems with slow decay
report.
Both are deterministic: the same steps give the same victims.
"""

import heapq
import math
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

HALF_LIFE = 32.0  # steps after which a use counts half
MANY = 12  # tokens' experts that fit into a layer's slots


class EvictionPolicy(Protocol):
    """The order in which one layer's cached experts would leave."""

    def touch(self, experts: Sequence[int]) -> None:
        """A step asks for these distinct experts, cached or not."""
        ...

    def admit(self, expert: int) -> None:
        """The expert has got a slot."""
        ...

    def forget(self, expert: int) -> None:
        """The expert has lost its slot."""
        ...

    def victim(self, pinned: Collection[int]) -> int:
        """The cached expert to evict first, outside `pinned`. At least one is not pinned."""
        ...

    def hottest(self) -> list[int]:
        """All cached experts, the last to leave first."""
        ...


PolicyFactory = Callable[[int, int], EvictionPolicy]  # of slots a layer and experts a token


def policy_for(slot_count: int, experts_per_token: int) -> EvictionPolicy:
    """Recency where slots are many, else frequency with recency."""
    return Recency() if slot_count >= MANY * experts_per_token else Frequency()


class Recency:
    """Least recently used first. O(1) a use; a victim costs O(pinned)."""

    def __init__(self) -> None:
        self._order: OrderedDict[int, None] = OrderedDict()  # oldest first

    def touch(self, experts: Sequence[int]) -> None:
        for expert in experts:
            if expert in self._order:
                self._order.move_to_end(expert)

    def admit(self, expert: int) -> None:
        self._order[expert] = None

    def forget(self, expert: int) -> None:
        del self._order[expert]

    def victim(self, pinned: Collection[int]) -> int:
        return next(expert for expert in self._order if expert not in pinned)

    def hottest(self) -> list[int]:
        return list(reversed(self._order))


class Frequency:
    """Least frequently used first, where a use counts half after each half-life (LRFU).

    Source: Lee et al., "LRFU", IEEE Trans. Computers 50(12), 2001. The weight of an expert used at
    steps t is the sum of 2^((t - now) / half-life); its logarithm less now / half-life does not
    change while the expert rests, so a heap stays in order. Evicted experts keep their weight.
    O(log n) a use, amortized: a use only raises a score, which the heap learns when it looks.
    """

    def __init__(self, half_life: float = HALF_LIFE) -> None:
        self._half_life = half_life
        self._step = 0
        self._scores: dict[int, float] = {}  # log2 of the weight at step 0, of all ever used
        self._heap: list[tuple[float, int]] = []  # scores as they were; never above the true ones
        self._cached: set[int] = set()

    def touch(self, experts: Sequence[int]) -> None:
        self._step += 1
        now = self._step / self._half_life
        for expert in experts:
            self._scores[expert] = _log2_add(self._scores.get(expert, -math.inf), now)

    def admit(self, expert: int) -> None:
        self._cached.add(expert)
        self._scores.setdefault(expert, self._step / self._half_life)
        heapq.heappush(self._heap, (self._scores[expert], expert))

    def forget(self, expert: int) -> None:
        self._cached.remove(expert)
        if len(self._heap) > 2 * len(self._cached) + 16:
            self._rebuild()

    def victim(self, pinned: Collection[int]) -> int:
        passed = []
        while True:
            score, expert = heapq.heappop(self._heap)
            if expert not in self._cached:
                continue
            if score < self._scores[expert]:
                heapq.heappush(self._heap, (self._scores[expert], expert))
                continue
            passed.append((score, expert))
            if expert not in pinned:
                break
        for entry in passed:
            heapq.heappush(self._heap, entry)
        return expert

    def hottest(self) -> list[int]:
        return sorted(self._cached, key=lambda expert: (-self._scores[expert], expert))

    def _rebuild(self) -> None:
        self._heap = [(self._scores[expert], expert) for expert in self._cached]
        heapq.heapify(self._heap)


def _log2_add(a: float, b: float) -> float:
    """log2(2^a + 2^b), where b is finite and a is not much larger."""
    return b + math.log2(1.0 + 2.0 ** (a - b))
