from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import ReadFailed
from engine.experts.cache import ExpertCache
from engine.experts.reader import ThreadedReader
from engine.experts.staging import StagedGroup
from tests.engine.experts.handmade import EXPERTS, Handmade, make_files, slot_contents


@pytest.fixture
def files(tmp_path: Path) -> Handmade:
    return make_files(tmp_path)


@pytest.fixture
def cache(files: Handmade) -> Iterator[ExpertCache]:
    cache = ExpertCache(files, 3, ThreadedReader(4))
    yield cache
    cache.close()


def contents(group: StagedGroup, count: int) -> list[bytes]:
    return [slot_contents(group.slots, slot) for slot in range(count)]


def test_a_sweep_reads_every_expert_once(files: Handmade, cache: ExpertCache) -> None:
    staging = cache.staging(5)
    groups = [list(range(5)), list(range(5, 10)), list(range(10, EXPERTS))]
    ahead = staging.load(1, groups[0])
    for experts, after in zip(groups, [*groups[1:], None], strict=True):
        group, ahead = ahead, staging.load(1, after) if after else ahead
        group.wait()
        assert contents(group, len(experts)) == [files.blob(1, e) for e in experts]
    assert cache.stats.bytes_read == EXPERTS * files.layout.payload
    assert cache.stats.wait_s > 0
    assert (cache.stats.hits, cache.stats.misses) == (0, 0)
    assert cache.slot_map(1).max() == -1  # the slots of decode are not touched


def test_two_groups_lie_side_by_side(files: Handmade, cache: ExpertCache) -> None:
    staging = cache.staging(2)
    first, second = staging.load(0, [0, 1]), staging.load(0, [2, 3])
    second.wait()
    first.wait()
    assert contents(first, 2) == [files.blob(0, e) for e in (0, 1)]
    assert contents(second, 2) == [files.blob(0, e) for e in (2, 3)]


def test_a_sweep_given_up_does_not_disturb_the_next(files: Handmade, cache: ExpertCache) -> None:
    staging = cache.staging(6)
    staging.load(0, range(6))
    staging.load(0, range(6, 12))
    group = staging.load(1, [3, 4])  # into the buffer of the first, which nobody waited for
    group.wait()
    assert contents(group, 2) == [files.blob(1, e) for e in (3, 4)]


def test_what_was_loaded_ahead_is_found_by_its_layer(files: Handmade, cache: ExpertCache) -> None:
    staging = cache.staging(2)
    staging.load_ahead(1, [7, 8])
    staging.load_ahead(1, [9])
    first, second = staging.take_ahead(1)
    assert (first.experts, second.experts) == ((7, 8), (9,))
    first.wait()
    second.wait()
    assert contents(first, 2) == [files.blob(1, e) for e in (7, 8)]
    assert contents(second, 1) == [files.blob(1, 9)]
    assert staging.take_ahead(1) == []


def test_what_was_loaded_ahead_for_a_sweep_given_up_is_forgotten(
    files: Handmade, cache: ExpertCache
) -> None:
    staging = cache.staging(2)
    staging.load_ahead(1, [7, 8])
    assert staging.take_ahead(0) == []
    assert staging.take_ahead(1) == []
    group = staging.load(0, [1])
    group.wait()
    assert contents(group, 1) == [files.blob(0, 1)]


def test_a_failed_read_is_told(files: Handmade, cache: ExpertCache) -> None:
    with files.layer_path(0).open("r+b") as file:
        file.truncate(files.layout.stride)
    group = cache.staging(2).load(0, [0, 1])
    with pytest.raises(ReadFailed, match="Expert 1 of layer 0"):
        group.wait()
    assert cache.stats.bytes_read == files.layout.payload


def test_a_group_too_large_is_a_bug(cache: ExpertCache) -> None:
    with pytest.raises(ValueError, match="3 experts in a group of 2"):
        cache.staging(2).load(0, [0, 1, 2])
