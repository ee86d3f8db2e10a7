"""Snapshots by their ids: the longest prefix is found, and the budget is kept."""

import mlx.core as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.model.state import DeltaState, KeyValueRows, Snapshot
from engine.prefix_cache import PrefixCache

ROW_BYTES = 2 * 4
STATE_BYTES = 2 * 4


def snapshot(length: int, parent: Snapshot | None = None) -> Snapshot:
    start = parent.length if parent else 0
    row = mx.zeros((1, length - start, 1))
    rows = KeyValueRows(start, length, (row,), (row,), parent.rows if parent else None)
    return Snapshot((DeltaState(mx.zeros((1,)), mx.zeros((1,))),), rows)


def test_the_longest_known_beginning_is_found() -> None:
    cache = PrefixCache(10**6)
    short, long, other = snapshot(2), snapshot(4), snapshot(3)
    cache.add([1, 2], short)
    cache.add([1, 2, 3, 4], long)
    cache.add([9, 9, 9], other)
    assert cache.longest([1, 2, 3, 4, 5]) is long
    assert cache.longest([1, 2, 3]) is short
    assert cache.longest([9, 9, 9]) is other
    assert cache.longest([1]) is None
    assert cache.longest([]) is None


def test_rows_that_snapshots_share_count_once() -> None:
    cache = PrefixCache(10**6)
    first = snapshot(10)
    cache.add(range(10), first)
    cache.add(range(15), snapshot(15, first))
    assert cache.nbytes == 15 * ROW_BYTES + 2 * STATE_BYTES


def test_the_oldest_conversation_leaves_first_and_turns_before_ends() -> None:
    turn = snapshot(10)
    end = snapshot(12, turn)
    cache = PrefixCache(10**6)
    cache.add([1] * 10, turn)
    cache.add([1] * 12, end)
    cache.add([2] * 10, snapshot(10))
    cache.shrink(cache.nbytes - 1)  # the earlier turn goes: its end still knows its rows
    assert cache.longest([1] * 11) is None
    assert cache.longest([1] * 13) is end
    cache.shrink(12 * ROW_BYTES + STATE_BYTES)
    assert cache.longest([2] * 10) is None
    assert cache.longest([1] * 13) is end


def test_a_snapshot_larger_than_the_budget_is_not_kept() -> None:
    cache = PrefixCache(10)
    cache.add([1] * 50, snapshot(50))
    assert len(cache) == 0
    assert cache.nbytes == 0


def test_a_snapshot_of_other_ids_is_a_bug() -> None:
    with pytest.raises(ValueError, match="3 ids for a snapshot of 2"):
        PrefixCache(10).add([1, 2, 3], snapshot(2))


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), max_size=12), st.integers(0, 400)
)
def test_any_history_keeps_the_budget_and_finds_true_prefixes(
    histories: list[list[int]], budget_bytes: int
) -> None:
    cache = PrefixCache(budget_bytes)
    kept: list[tuple[list[int], Snapshot]] = []
    for ids in histories:
        kept.append((ids, snapshot(len(ids))))
        cache.add(*kept[-1])
        assert cache.nbytes <= budget_bytes
        found = cache.longest([*ids, 7])
        if found is not None:
            owner = next(owned for owned, s in kept if s is found)
            assert owner == ids[: len(owner)]
