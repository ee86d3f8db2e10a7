import gc
import threading
from collections.abc import Iterator
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from engine.container.files import PAGE_BYTES
from engine.errors import BadOption, ReadFailed
from engine.experts.cache import ExpertCache
from engine.experts.policy import Frequency, Recency
from engine.experts.reader import ThreadedReader
from tests.engine.experts.handmade import (
    EXPERTS,
    PLAIN,
    TOP_K,
    Handmade,
    make_files,
    make_layout,
    slot_contents,
)


@pytest.fixture
def files(tmp_path: Path) -> Handmade:
    return make_files(tmp_path)


@pytest.fixture
def reader() -> Iterator[ThreadedReader]:
    reader = ThreadedReader(4)
    yield reader
    reader.close()


def check_contents(cache: ExpertCache, files: Handmade, layer: int) -> None:
    """Every mapped slot holds its expert's bytes exactly, and no two experts share one."""
    slots = cache.slot_map(layer)
    mapped = slots[slots >= 0]
    assert len(set(mapped.tolist())) == len(mapped)
    for expert in np.flatnonzero(slots >= 0).tolist():
        assert slot_contents(cache.slots(layer), slots[expert]) == files.blob(layer, expert)


def look_up(cache: ExpertCache, layer: int, experts: list[int]) -> list[bool]:
    with cache.begin(layer, experts) as fetch:
        fetch.wait()
        return fetch.hit_mask.tolist()


def test_misses_are_read_and_then_hit(files: Handmade, reader: ThreadedReader) -> None:
    cache = ExpertCache(files, 6, reader)
    assert look_up(cache, 1, [7, 2, 11]) == [False, False, False]
    assert look_up(cache, 1, [2, 3, 7]) == [True, False, True]
    check_contents(cache, files, 1)
    assert cache.slot_map(0).tolist() == [-1] * EXPERTS
    stats = cache.stats
    assert (stats.hits, stats.misses) == (2, 4)
    assert stats.bytes_read == 4 * files.layout.payload
    assert stats.hit_rate == pytest.approx(1 / 3)
    assert stats.wait_s > 0


def test_slot_ids_follow_the_order_asked_for(files: Handmade, reader: ThreadedReader) -> None:
    cache = ExpertCache(files, 6, reader)
    with cache.begin(0, np.array([9, 4, 9, 0], np.uint32)) as fetch:
        fetch.wait()
        slots = cache.slot_map(0)
        assert fetch.slot_ids.dtype == np.uint32
        assert fetch.slot_ids.tolist() == slots[[9, 4, 9, 0]].tolist()
        assert fetch.experts.tolist() == [9, 4, 9, 0]
    assert cache.stats.misses == 3


def test_mlx_computes_with_what_was_read(tmp_path: Path, reader: ThreadedReader) -> None:
    files = make_files(tmp_path, make_layout(PLAIN))
    cache = ExpertCache(files, 3, reader)
    with cache.begin(0, [5]) as fetch:
        fetch.wait()
        section = files.layout.section("up_proj.weight")
        start = section.offset
        expected = np.frombuffer(files.blob(0, 5)[start : start + section.size], np.uint16)
        up = cache.slots(0).up.weight[int(fetch.slot_ids[0])].view(mx.uint16)
        assert np.array(up).ravel().tolist() == expected.tolist()


def test_all_of_a_call_are_pinned_before_one_is_evicted(
    files: Handmade, reader: ThreadedReader
) -> None:
    cache = ExpertCache(files, 3, reader, lambda slots, top_k: Recency())
    look_up(cache, 0, [0, 1, 2])
    # 0 is the oldest, and asked for after a miss: it must survive that miss.
    assert look_up(cache, 0, [5, 0, 1]) == [False, True, True]
    check_contents(cache, files, 0)


def test_a_pinned_expert_keeps_its_slot(files: Handmade, reader: ThreadedReader) -> None:
    cache = ExpertCache(files, 4, reader)
    with cache.begin(0, [0, 1]) as held:
        held.wait()
        for expert in range(2, EXPERTS):
            look_up(cache, 0, [expert, 0])
        assert cache.slot_map(0)[[0, 1]].tolist() == held.slot_ids.tolist()
        with pytest.raises(ValueError, match="5 experts are needed at once, of 4 slots"):
            cache.begin(0, [4, 5, 6])
    assert look_up(cache, 0, [4, 5, 6]) is not None
    check_contents(cache, files, 0)


def test_more_experts_than_slots_is_a_bug(files: Handmade, reader: ThreadedReader) -> None:
    cache = ExpertCache(files, 3, reader)
    with pytest.raises(ValueError, match="4 experts are needed at once, of 3 slots"):
        cache.begin(0, [0, 1, 2, 3])
    assert look_up(cache, 0, [0, 1, 2]) == [False] * 3


def test_too_few_slots_are_refused(files: Handmade, reader: ThreadedReader) -> None:
    with pytest.raises(BadOption, match=f"2 expert slots.*at least {TOP_K}"):
        ExpertCache(files, TOP_K - 1, reader)


def test_more_slots_than_experts_are_as_many_as_experts(
    files: Handmade, reader: ThreadedReader
) -> None:
    cache = ExpertCache(files, 100, reader)
    assert cache.slot_count(0) == EXPERTS


def test_a_layer_is_resident_when_all_are_read_in_place(
    files: Handmade, reader: ThreadedReader
) -> None:
    cache = ExpertCache(files, EXPERTS, reader)
    look_up(cache, 0, list(range(EXPERTS - 1)))
    assert not cache.resident(0)
    with cache.begin(0, [EXPERTS - 1]) as fetch:
        assert not cache.resident(0)
        fetch.wait()
    assert cache.resident(0)
    assert cache.slot_map(0).tolist() == list(range(EXPERTS))
    assert not cache.resident(1)


def test_two_fetches_share_a_read_on_its_way(files: Handmade, reader: ThreadedReader) -> None:
    cache = ExpertCache(files, 6, reader)
    with cache.begin(0, [1, 2]) as first, cache.begin(0, [2, 3]) as second:
        assert second.hit_mask.tolist() == [False, False]
        second.wait()
        check_contents(cache, files, 0)
        first.wait()
    assert cache.stats.bytes_read == 3 * files.layout.payload


def test_a_failed_read_unmaps_its_slot_and_leaves_the_rest(
    files: Handmade, reader: ThreadedReader
) -> None:
    path = files.layer_path(0)
    whole = path.read_bytes()
    with path.open("r+b") as file:
        file.truncate(files.layout.stride * 8 + 100)
    cache = ExpertCache(files, 4, reader)
    with pytest.raises(ReadFailed) as caught:
        look_up(cache, 0, [2, 8, 1])
    assert "Expert 8 of layer 0" in caught.value.message
    assert str(path) in caught.value.message
    assert np.flatnonzero(cache.slot_map(0) >= 0).tolist() == [1, 2]
    check_contents(cache, files, 0)
    assert cache.stats.bytes_read == 2 * files.layout.payload
    path.write_bytes(whole)  # the file is back
    assert look_up(cache, 0, [2, 8, 1, 9]) == [True, False, True, False]
    check_contents(cache, files, 0)


def test_a_failure_reaches_every_fetch_that_joined(files: Handmade, reader: ThreadedReader) -> None:
    files.layer_path(0).unlink()
    cache = ExpertCache(files, 4, reader)
    with cache.begin(0, [1, 2]) as first, cache.begin(0, [2, 3]) as second:
        for fetch in (first, second):
            with pytest.raises(ReadFailed):
                fetch.wait()
    assert cache.slot_map(0).max() == -1
    cache.resize(0, 3)  # nothing is pinned any more


def test_release_without_wait_leaves_no_half_read_expert(
    files: Handmade, reader: ThreadedReader
) -> None:
    with files.layer_path(0).open("r+b") as file:
        file.truncate(files.layout.stride * 5)
    cache = ExpertCache(files, 4, reader)
    cache.begin(0, [3, 5, 7]).release()
    assert np.flatnonzero(cache.slot_map(0) >= 0).tolist() == [3]
    check_contents(cache, files, 0)


def test_warm_keeps_the_hottest_and_counts_no_look_up(
    files: Handmade, reader: ThreadedReader
) -> None:
    cache = ExpertCache(files, 3, reader, lambda slots, top_k: Recency())
    cache.warm(0, [4, 5, 6, 7])
    assert np.flatnonzero(cache.slot_map(0) >= 0).tolist() == [4, 5, 6]
    assert (cache.stats.hits, cache.stats.misses) == (0, 0)
    look_up(cache, 0, [9])
    assert np.flatnonzero(cache.slot_map(0) >= 0).tolist() == [4, 5, 9]  # the coldest has left
    check_contents(cache, files, 0)


@pytest.mark.parametrize("policy", [Recency, Frequency])
def test_a_smaller_layer_keeps_its_hottest(
    files: Handmade, reader: ThreadedReader, policy: type[Recency | Frequency]
) -> None:
    cache = ExpertCache(files, 8, reader, lambda slots, top_k: policy())
    for expert in (0, 1, 2, 3, 4, 5, 6, 7):
        look_up(cache, 0, [expert])
    read = cache.stats.bytes_read
    cache.resize(0, 3)
    assert np.flatnonzero(cache.slot_map(0) >= 0).tolist() == [5, 6, 7]
    check_contents(cache, files, 0)
    assert cache.slot_count(1) == 8
    look_up(cache, 0, [9])
    assert np.flatnonzero(cache.slot_map(0) >= 0).tolist() == [6, 7, 9]
    cache.resize(0, EXPERTS)
    assert cache.slot_map(0)[[6, 7, 9]].tolist() == [6, 7, 9]
    check_contents(cache, files, 0)
    assert cache.stats.bytes_read - read == files.layout.payload  # copied, not read again


def test_a_pinned_layer_is_not_resized(files: Handmade, reader: ThreadedReader) -> None:
    cache = ExpertCache(files, 8, reader)
    with cache.begin(0, [1]), pytest.raises(RuntimeError, match="layer 0 are pinned"):
        cache.resize(0, 4)
    cache.resize(0, 4)
    with pytest.raises(BadOption):
        cache.resize(0, TOP_K - 1)


def test_resizing_gives_memory_back(tmp_path: Path, reader: ThreadedReader) -> None:
    layout = make_layout((("gate_proj.weight", "F32", (64, 128)),
                          ("up_proj.weight", "F32", (64, 128)),
                          ("down_proj.weight", "F32", (128, 64))), stride=131072)  # fmt: skip
    files = make_files(tmp_path, layout)
    cache = ExpertCache(files, 12, reader)
    for layer in (0, 1):
        look_up(cache, layer, list(range(12)))
    gc.collect()  # what other tests left in cycles is not to be freed between two looks
    full = mx.get_active_memory()
    mx.reset_peak_memory()
    cache.resize(0, 4)
    cache.resize(1, 4)
    freed = full - mx.get_active_memory()
    assert freed == pytest.approx(2 * 8 * layout.payload, rel=0.02)
    aligning = 3 * PAGE_BYTES  # each of a layer's arrays
    assert mx.get_peak_memory() - full - aligning == pytest.approx(4 * layout.payload, rel=0.02)
    cache.resize(0, 12)
    assert full - mx.get_active_memory() == pytest.approx(8 * layout.payload, rel=0.02)


def test_invalidate_forgets_what_was_read(files: Handmade, reader: ThreadedReader) -> None:
    cache = ExpertCache(files, 6, reader)
    look_up(cache, 0, [1, 2])
    old = files.blob(0, 1)
    make_files(files.folder, files.layout, seed=1)
    cache.invalidate()
    assert cache.slot_map(0).max() == -1
    assert look_up(cache, 0, [1, 2]) == [False, False]
    assert files.blob(0, 1) != old
    check_contents(cache, files, 0)


def test_closing_ends_the_threads(files: Handmade) -> None:
    cache = ExpertCache(files, 6, ThreadedReader(3))
    look_up(cache, 0, [1, 2])
    cache.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("expert-reader")]


def test_what_a_prompt_asked_for_most_stays(files: Handmade, reader: ThreadedReader) -> None:
    """A prompt's reads go another way than by look-ups; its tokens count all the same."""
    prompt = np.array([[0, 1]] * 5 + [[2, 3], [4, 5]], np.uint32)
    cache = ExpertCache(files, 4, reader, lambda slots, k: Frequency())
    cache.heard(0, prompt)
    assert (cache.stats.hits, cache.stats.misses) == (0, 0)
    for experts in ([0, 1], [2, 3], [4, 5]):
        look_up(cache, 0, experts)
    assert np.flatnonzero(cache.slot_map(0) >= 0).tolist() == [0, 1, 4, 5]
