"""The cache under random look-ups, resizes and failures, and what must hold throughout."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

from engine.errors import ReadFailed
from engine.experts.cache import ExpertCache, Fetch
from engine.experts.policy import EvictionPolicy, Frequency, Recency
from engine.experts.reader import ReadRequest
from tests.engine.experts.handmade import (
    EXPERTS,
    LAYERS,
    TOP_K,
    describe,
    make_layout,
    slot_contents,
)

FILES = describe(Path("nowhere"), make_layout())
BLOBS = np.random.default_rng(0).bytes(LAYERS * EXPERTS * FILES.layout.payload)


def blob(layer: int, expert: int) -> bytes:
    """What a read of this expert gives."""
    size = FILES.layout.payload
    start = (layer * EXPERTS + expert) * size
    return BLOBS[start : start + size]


layers = st.integers(0, LAYERS - 1)
experts = st.lists(st.integers(0, EXPERTS - 1), min_size=1, max_size=2 * TOP_K)


class LateReader:
    """Reads when it is awaited, not before; of the experts in `broken` only half."""

    def __init__(self) -> None:
        self.broken: set[int] = set()
        self.bytes_read = 0
        self.begins_guesses = False

    def submit(self, requests: Sequence[ReadRequest], *, lookahead: bool = False) -> "LateBatch":
        return LateBatch(self, requests, begun=not lookahead or self.begins_guesses)

    def close(self) -> None:
        pass


class LateBatch:
    def __init__(self, reader: LateReader, requests: Sequence[ReadRequest], *, begun: bool) -> None:
        self.reader = reader
        self.begun = begun
        self.requests = requests
        self.answers: tuple[ReadFailed | None, ...] | None = None

    def wait(self) -> tuple[ReadFailed | None, ...]:
        if self.answers is None:
            self.answers = tuple(self._read(request) for request in self.requests)
        return self.answers

    def cancel(self) -> tuple[int, ...]:
        return () if self.begun else tuple(range(len(self.requests)))

    def _read(self, request: ReadRequest) -> ReadFailed | None:
        rest = blob(request.layer, request.expert)
        assert request.offset == request.expert * FILES.layout.stride
        broken = request.expert in self.reader.broken
        for number, view in enumerate(request.views):
            if not (broken and number % 2):
                view[:] = rest[: view.nbytes]
            rest = rest[view.nbytes :]
        if broken:
            return ReadFailed(f"Expert {request.expert} is broken.")
        self.reader.bytes_read += sum(view.nbytes for view in request.views)
        return None


class RandomCache(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.reader = LateReader()
        self.cache = ExpertCache(FILES, 6, self.reader, self.policy)
        self.held: list[tuple[int, Fetch, dict[int, int]]] = []  # with the slots it was told
        self.look_ups = 0

    def policy(self, slots: int, top_k: int) -> EvictionPolicy:
        return Recency() if slots % 2 else Frequency()

    def pinned(self, layer: int) -> set[int]:
        return {e for at, _, slots in self.held if at == layer for e in slots}

    @rule(layer=layers, asked=experts)
    def begin(self, layer: int, asked: list[int]) -> None:
        count = self.cache.slot_count(layer)
        if len(self.pinned(layer) | set(asked)) > count:
            before = self.cache.slot_map(layer)
            settled = [e for e in np.flatnonzero(before >= 0) if e not in self.on_the_way(layer)]
            try:
                self.cache.begin(layer, asked)
            except ValueError:
                assert (self.cache.slot_map(layer)[settled] == before[settled]).all()
                return
            raise AssertionError("there was no room")
        mapped = self.cache.slot_map(layer)
        fetch = self.cache.begin(layer, asked)
        self.look_ups += len(set(asked))
        assert all(mapped[e] >= 0 for e in np.array(asked)[fetch.hit_mask])
        slots = dict(zip(asked, fetch.slot_ids.tolist(), strict=True))
        assert len(set(slots.values())) == len(slots)
        self.held.append((layer, fetch, slots))
        for expert in np.array(asked)[fetch.hit_mask].tolist():
            assert slot_contents(self.cache.slots(layer), slots[expert]) == blob(layer, expert)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def wait(self, data: st.DataObject) -> None:
        position = data.draw(st.integers(0, len(self.held) - 1))
        layer, fetch, slots = self.held[position]
        try:
            fetch.wait()
        except ReadFailed:
            fetch.release()
            self.held.pop(position)
            self.hear_of_failures()
            return
        self.hear_of_failures()  # the reads it joined may have been for others too
        for expert, slot in slots.items():
            assert slot_contents(self.cache.slots(layer), slot) == blob(layer, expert)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        position = data.draw(st.integers(0, len(self.held) - 1))
        self.held[position][1].release()
        self.held[position][1].release()
        self.held.pop(position)
        self.hear_of_failures()

    def hear_of_failures(self) -> None:
        """Fetches that still hold a failed expert have lost it; waiting will tell them."""
        for layer, _, slots in self.held:
            mapped = self.cache.slot_map(layer)
            for expert in [e for e in slots if mapped[e] < 0]:
                del slots[expert]

    @rule(layer=layers, count=st.integers(TOP_K, EXPERTS + 1))
    def resize(self, layer: int, count: int) -> None:
        if self.pinned(layer):
            try:
                self.cache.resize(layer, count)
            except RuntimeError:
                return
            raise AssertionError("the layer was in use")
        before = np.flatnonzero(self.cache.slot_map(layer) >= 0).tolist()
        mapped = [e for e in before if e not in self.on_the_way(layer)]
        guessed = set(before) - set(mapped)
        read = self.reader.bytes_read
        self.cache.resize(layer, count)
        assert self.cache.slot_count(layer) == min(count, EXPERTS)
        kept = np.flatnonzero(self.cache.slot_map(layer) >= 0)
        assert len(kept) >= min(len(mapped), count)
        assert set(kept.tolist()) <= set(before)
        assert guessed or self.reader.bytes_read == read

    def on_the_way(self, layer: int) -> set[int]:
        return set(self.cache._layers[layer].loading)

    @rule(layer=layers, likely=experts, most=st.integers(0, 4), begun=st.booleans())
    def guess(self, layer: int, likely: list[int], most: int, begun: bool) -> None:
        self.reader.begins_guesses = begun
        before = self.cache.slot_map(layer)
        self.cache.guess(layer, likely, most)
        after = self.cache.slot_map(layer)
        added = np.flatnonzero((after >= 0) & (before < 0)).tolist()
        assert len(added) <= most
        assert set(added) <= set(likely)

    @rule(layer=layers, asked=st.lists(st.integers(0, EXPERTS - 1), unique=True))
    def warm(self, layer: int, asked: list[int]) -> None:
        if self.pinned(layer):
            return
        try:
            self.cache.warm(layer, asked)
        except ReadFailed:
            return
        mapped = self.cache.slot_map(layer)
        assert all(mapped[e] >= 0 for e in asked[: self.cache.slot_count(layer)])

    @rule(broken=st.sets(st.integers(0, EXPERTS - 1), max_size=3))
    def break_experts(self, broken: set[int]) -> None:
        self.reader.broken = broken

    @precondition(lambda self: not self.held)
    @rule()
    def invalidate(self) -> None:
        self.cache.invalidate()
        assert all(self.cache.slot_map(layer).max() == -1 for layer in range(LAYERS))

    @invariant()
    def pinned_experts_stay(self) -> None:
        for layer, _, slots in self.held:
            mapped = self.cache.slot_map(layer)
            assert {e: int(mapped[e]) for e in slots} == slots

    @invariant()
    def one_expert_a_slot(self) -> None:
        for layer in range(LAYERS):
            mapped = self.cache.slot_map(layer)
            used = mapped[mapped >= 0].tolist()
            assert len(set(used)) == len(used)
            assert all(0 <= slot < self.cache.slot_count(layer) for slot in used)

    @invariant()
    def what_is_ready_is_exact(self) -> None:
        """Checked where nothing is on its way: a slot that is being read may hold anything."""
        for layer in range(LAYERS):
            if not self.pinned(layer):
                mapped = np.flatnonzero(self.cache.slot_map(layer) >= 0).tolist()
                for expert in set(mapped) - self.on_the_way(layer):
                    slot = int(self.cache.slot_map(layer)[expert])
                    contents = slot_contents(self.cache.slots(layer), slot)
                    assert contents == blob(layer, expert)

    @invariant()
    def counts_add_up(self) -> None:
        stats = self.cache.stats
        assert stats.hits + stats.misses == self.look_ups
        assert stats.bytes_read <= self.reader.bytes_read
        if not self.held:
            assert stats.bytes_read == self.reader.bytes_read

    def teardown(self) -> None:
        for _, fetch, _ in self.held:
            fetch.release()


RandomCache.TestCase.settings = settings(deadline=None, max_examples=50, stateful_step_count=30)
TestRandomCache = RandomCache.TestCase
