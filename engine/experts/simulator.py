"""Replays a routing trace against eviction policies, and against the best that any could do.

Stands on the cache's own bookkeeping, so a replay misses exactly what the cache would read.
"""

import heapq
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from engine.experts.policy import EvictionPolicy
from engine.experts.residency import Residency
from engine.experts.trace import Trace

Steps = list[list[int]]  # of one layer: the distinct experts of every token


@dataclass(frozen=True, slots=True)
class Replay:
    """What a trace costs with a policy, from empty slots on."""

    look_ups: int
    misses: int

    @property
    def hit_rate(self) -> float:
        """Hits per look-up, 0 to 1; 0 without look-ups."""
        return (self.look_ups - self.misses) / max(1, self.look_ups)


def replay(trace: Trace, slots_per_layer: int, policy: Callable[[], EvictionPolicy]) -> Replay:
    """Replay with a fresh policy in every layer."""
    return _replay(trace, slots_per_layer, lambda steps: policy())


def replay_optimal(trace: Trace, slots_per_layer: int) -> Replay:
    """Replay with knowledge of the future: no policy misses less."""
    return _replay(trace, slots_per_layer, Farthest)


def _replay(trace: Trace, slots: int, policy: Callable[[Steps], EvictionPolicy]) -> Replay:
    look_ups = misses = 0
    for layer in range(trace.routes.shape[1]):
        steps = [list(dict.fromkeys(token)) for token in trace.routes[:, layer].tolist()]
        residency = Residency(trace.expert_count, min(slots, trace.expert_count), policy(steps))
        for experts in steps:
            look_ups += len(experts)
            misses += len(residency.claim(experts))
            residency.unpin(experts)
    return Replay(look_ups, misses)


class Farthest:
    """Belady's policy: the expert that is needed again last leaves first.

    Source: Belady, "A study of replacement algorithms for a virtual-storage computer", 1966.
    """

    def __init__(self, steps: Sequence[Sequence[int]]) -> None:
        self._uses: dict[int, list[float]] = {}  # of every expert, the last first
        for step in range(len(steps) - 1, -1, -1):
            for expert in steps[step]:
                self._uses.setdefault(expert, [math.inf]).append(step)
        self._cached: set[int] = set()
        self._heap: list[tuple[float, int]] = []  # (-next use, expert), with stale entries

    def touch(self, experts: Sequence[int]) -> None:
        for expert in experts:
            self._uses[expert].pop()
            if expert in self._cached:
                self._push(expert)

    def admit(self, expert: int) -> None:
        self._cached.add(expert)
        self._push(expert)

    def forget(self, expert: int) -> None:
        self._cached.remove(expert)

    def victim(self, pinned: Collection[int]) -> int:
        passed = []
        while True:
            entry = heapq.heappop(self._heap)
            expert = entry[1]
            if expert not in self._cached or -entry[0] != self._uses[expert][-1]:
                continue
            passed.append(entry)
            if expert not in pinned:
                break
        for entry in passed:
            heapq.heappush(self._heap, entry)
        return expert

    def hottest(self) -> list[int]:
        return sorted(self._cached, key=lambda expert: (self._uses[expert][-1], expert))

    def _push(self, expert: int) -> None:
        heapq.heappush(self._heap, (-self._uses[expert][-1], expert))
