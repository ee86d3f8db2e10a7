from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.experts.policy import EvictionPolicy, Frequency, Recency, policy_for
from engine.experts.residency import Residency

EXPERTS = 12
Steps = list[list[int]]

steps = st.lists(
    st.lists(st.integers(0, EXPERTS - 1), min_size=1, max_size=4, unique=True), max_size=60
)


def victims(policy: EvictionPolicy, slots: int, wanted: Steps) -> list[list[int]]:
    """The experts that each step evicts."""
    residency = Residency(EXPERTS, slots, policy)
    gone = []
    for experts in wanted:
        before = set(residency.slot_of)
        residency.claim(experts)
        residency.unpin(experts)
        gone.append(sorted(before - set(residency.slot_of)))
    return gone


def recency_by_hand(slots: int, wanted: Steps) -> list[list[int]]:
    """The same by the definition: who was used last how long ago, found by looking at everyone."""
    cached: list[int] = []  # oldest first
    gone = []
    for experts in wanted:
        left = []
        cached = [e for e in cached if e not in experts] + [e for e in experts if e in cached]
        for expert in experts:
            if expert not in cached:
                if len(cached) == slots:
                    left.append(next(e for e in cached if e not in experts))
                    cached.remove(left[-1])
                cached.append(expert)
        gone.append(sorted(left))
    return gone


@settings(deadline=None)
@given(steps, st.integers(4, EXPERTS))
def test_recency_evicts_as_its_definition_says(wanted: Steps, slots: int) -> None:
    assert victims(Recency(), slots, wanted) == recency_by_hand(slots, wanted)


def weight(expert: int, history: Sequence[Sequence[int]], half_life: float) -> float:
    """What an expert's uses are worth after the last step of `history`."""
    ages = [len(history) - 1 - t for t, experts in enumerate(history) if expert in experts]
    return sum(2.0 ** (-age / half_life) for age in ages)


@settings(deadline=None)
@given(steps, st.integers(4, EXPERTS), st.sampled_from([0.5, 2.0, 8.0, 100.0]))
def test_frequency_evicts_the_least_weight(wanted: Steps, slots: int, half_life: float) -> None:
    policy = Frequency(half_life)
    residency = Residency(EXPERTS, slots, policy)
    for now, experts in enumerate(wanted):
        before = set(residency.slot_of)
        residency.claim(experts)
        residency.unpin(experts)
        gone = before - set(residency.slot_of)
        stay = before & set(residency.slot_of) - set(experts)
        history = wanted[: now + 1]
        if gone and stay:
            heaviest = max(weight(e, history, half_life) for e in gone)
            assert heaviest <= min(weight(e, history, half_life) for e in stay) * (1 + 1e-9)
    ranked = [weight(e, wanted, half_life) for e in policy.hottest()]
    assert all(a >= b * (1 - 1e-9) for a, b in pairwise(ranked))


@pytest.mark.parametrize("policy", [Recency, Frequency])
def test_a_pinned_expert_is_no_victim(policy: type[Recency | Frequency]) -> None:
    order = policy()
    for expert in range(4):
        order.touch([expert])
        order.admit(expert)
    assert order.victim({0, 1}) == 2
    assert order.victim({0}) == 1
    assert order.victim(()) == 0  # passing an expert over does not lose it
    order.forget(0)
    assert order.victim(()) == 1
    assert order.hottest() == [3, 2, 1]


def test_frequency_remembers_an_evicted_expert() -> None:
    policy = Frequency(half_life=50)
    for _ in range(20):
        policy.touch([7])
    policy.touch([1])
    for expert in (1, 7):
        policy.admit(expert)
    policy.forget(7)
    policy.touch([1])
    policy.admit(7)
    assert policy.victim(()) == 1


def test_frequency_keeps_its_heap_small() -> None:
    policy = Frequency()
    for step in range(2000):
        expert = step % 5
        policy.touch([expert])
        policy.admit(expert)
        policy.forget(expert)
    assert len(policy._heap) <= 16


def test_recency_is_for_many_slots() -> None:
    assert isinstance(policy_for(95, 8), Frequency)
    assert isinstance(policy_for(96, 8), Recency)
