from collections.abc import Callable
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.experts.policy import EvictionPolicy, Frequency, Recency
from engine.experts.simulator import replay, replay_optimal
from engine.experts.trace import Trace
from tests.engine.experts.routing import generated_trace


def lru_misses(trace: Trace, slots: int) -> int:
    """A plain LRU, written apart from the engine: last use of every expert, smallest leaves."""
    misses = 0
    for layer in range(trace.routes.shape[1]):
        last: dict[int, int] = {}
        clock = 0
        for experts in trace.routes[:, layer].tolist():
            missing = [e for e in experts if e not in last]
            for e in experts:
                clock += 1
                if e in last:
                    last[e] = clock
            for e in missing:
                clock += 1
                if len(last) == slots:
                    del last[min((x for x in last if x not in experts), key=lambda x: last[x])]
                last[e] = clock
            misses += len(missing)
    return misses


@pytest.mark.parametrize("slots", [4, 5, 9, 20, 32])
def test_recency_misses_what_a_plain_lru_misses(slots: int) -> None:
    trace = generated_trace(150, 3, 32, 4)
    result = replay(trace, slots, Recency)
    assert result.misses == lru_misses(trace, slots)
    assert result.look_ups == 150 * 3 * 4


@pytest.mark.parametrize("slots", [4, 6, 12, 24])
@pytest.mark.parametrize("policy", [Recency, Frequency, lambda: Frequency(100.0)])
def test_no_policy_beats_the_optimum(slots: int, policy: Callable[[], EvictionPolicy]) -> None:
    trace = generated_trace(200, 2, 32, 4, seed=slots)
    best = replay_optimal(trace, slots)
    assert best.misses <= replay(trace, slots, policy).misses
    assert best.hit_rate >= replay(trace, slots, policy).hit_rate > 0


def test_with_a_slot_for_every_expert_each_is_read_once() -> None:
    trace = generated_trace(100, 2, 16, 4)
    seen = sum(len(np.unique(trace.routes[:, layer])) for layer in range(2))
    assert replay(trace, 16, Recency).misses == seen
    assert replay_optimal(trace, 16).misses == seen


def fewest_misses(steps: tuple[tuple[int, ...], ...], slots: int) -> int:
    """The optimum by trying every set of experts that could stay after every step."""

    @cache
    def search(step: int, cached: frozenset[int]) -> int:
        if step == len(steps):
            return 0
        wanted = frozenset(steps[step])
        others = sorted(cached - wanted)
        kept = min(len(others), slots - len(wanted))
        rest = min(search(step + 1, wanted | set(c)) for c in combinations(others, kept))
        return len(wanted - cached) + rest

    return search(0, frozenset())


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.lists(st.integers(0, 5), min_size=2, max_size=2, unique=True), min_size=1, max_size=9
    ),
    st.integers(2, 5),
)
def test_the_optimum_is_optimal(steps: list[list[int]], slots: int) -> None:
    trace = Trace(6, np.array(steps, np.uint16)[:, None, :])
    assert replay_optimal(trace, slots).misses == fewest_misses(tuple(map(tuple, steps)), slots)


def test_an_empty_trace_has_no_look_ups() -> None:
    result = replay(Trace(8, np.zeros((0, 2, 4), np.uint16)), 4, Recency)
    assert (result.look_ups, result.misses, result.hit_rate) == (0, 0, 0)
