"""The sparse experts of a layer: route, fetch what is missing, compute, combine.

The product of a (token, expert) pair depends on nothing but the pair, and a token's pairs are
summed in the router's order: so the output is the same whatever lay in the slots. A long chunk is a
sweep: every expert that any of its tokens needs is read once, the decode slots are left alone until
the prompt's last chunk puts the hottest there. While a layer mixes its tokens, the disk would have
nothing to do: it reads what the layer before foresaw, into the staging buffers that are free, and
in that last chunk the hottest into their slots.

A token's layer waits once, for the router's choice, which says what to read. Where all experts of
the layer lie in their slots there is nothing to read, and nothing is waited for.
Letters as in `engine.model.kernels`.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from engine.config import ModelConfig
from engine.experts.cache import ExpertCache, Fetch
from engine.experts.lookahead import Lookahead
from engine.experts.slots import LayerSlots
from engine.experts.staging import BUFFERS, StagedGroup, Staging
from engine.model.kernels import Kernels, Routing, SharedExpert
from engine.model.token_experts import fuses, mix_resident, mix_token, places
from engine.model.weights import Linear, linear

Ids = NDArray[np.uint32]
Positions = NDArray[np.intp]
OnRoute = Callable[[int, Ids], None]  # hears a layer and its choice (T, k)

SWEEP_TOKENS = 64  # from here on a chunk asks for most experts, and staging pays
SURE = 4  # tokens of a chunk that will probably ask for an expert: one of them does
FILLED = 2  # experts that a token brings along, into a layer with room for all


@dataclass(frozen=True, slots=True)
class NextRouter:
    """What foretells the next layer's choice: its norm and its router."""

    norm: mx.array  # (D,)
    eps: float
    gate: Linear


@dataclass(frozen=True, slots=True)
class ExpertMemory:
    """Where experts are computed from: the slots that decode lives on, and a sweep's staging."""

    cache: ExpertCache
    staging: Staging | None  # None where every expert has a slot
    on_route: OnRoute
    lookahead: Lookahead
    routers: tuple[NextRouter, ...] = ()  # the i-th is what layer i looks ahead with


@dataclass(frozen=True, slots=True)
class SparseExperts:
    """A layer's router, shared expert and place in the cache."""

    layer: int
    gate: Linear  # (E, D)
    shared: SharedExpert
    expert_count: int
    top_k: int
    renormalize: bool
    places: mx.array  # (k,): 0, 1, 2, ...
    rows: mx.array  # (k,): all pairs of one token are of row 0

    def mix(
        self,
        kernels: Kernels,
        memory: ExpertMemory,
        x: mx.array,
        residual: mx.array,
        check: Callable[[], None],
        admit: bool,
    ) -> mx.array:
        """Normed input and residual (T, D) -> (T, D).

        `check` raises to give up between groups. `admit`: what follows is decode, so the experts
        most asked for may take the slots.
        """
        routing = kernels.route(x, self.gate, self.top_k, self.renormalize)
        if x.shape[0] == 1:
            check()
            if memory.on_route is unheard and memory.cache.resident(self.layer):
                memory.cache.count_hits(self.top_k)
                return self._mix_resident(kernels, memory.cache, x, residual, routing)
            return self._mix_token(kernels, memory, x, residual, routing)
        sweeps = memory.staging is not None and x.shape[0] >= SWEEP_TOKENS
        guesses = sweeps and memory.lookahead.allowed
        likely = self._next_choice(kernels, memory, residual) if guesses else ()
        asked = self._read_back(memory, routing.ids, *likely)
        memory.cache.heard(self.layer, asked)
        shared = kernels.shared_mlp(x, self.shared)
        pairs = PairProducts(kernels, x, asked, self.expert_count)
        if memory.staging is None or not sweeps:
            self._through_slots(memory.cache, pairs, shared, check)
        else:
            foreseen = np.array(likely[0]) if likely else None
            self._sweep(memory.cache, memory.staging, pairs, check, admit, foreseen)
        return kernels.combine(pairs.in_order(), routing.scores, shared, residual)

    def _read_back(self, memory: ExpertMemory, ids: mx.array, *others: mx.array) -> Ids:
        """The router's choice (T, k): the one wait. `others` come along."""
        mx.eval(ids, *others)
        memory.cache.count_readback()
        asked: Ids = np.array(ids)
        memory.on_route(self.layer, asked)
        return asked

    def _mix_token(
        self,
        kernels: Kernels,
        memory: ExpertMemory,
        x: mx.array,
        residual: mx.array,
        routing: Routing,
    ) -> mx.array:
        """(1, D), by way of the cache."""
        lazy = not places(kernels)  # then both choices come with one wait
        likely = self._likely(kernels, memory, residual) if lazy else ()
        asked = self._read_back(memory, routing.ids, *likely)
        memory.lookahead.heard(self.layer, asked[0])
        slots = memory.cache.slots(self.layer)
        with memory.cache.begin(self.layer, asked[0]) as fetch:
            if not lazy:  # the disk is at work by now
                likely = self._likely(kernels, memory, residual)
            if likely:
                memory.lookahead.expect(self.layer + 1, np.array(likely[0])[0])
            elif slots.count == self.expert_count and memory.lookahead.allowed:
                memory.cache.guess(self.layer, memory.cache.missing(self.layer), FILLED)
            if fuses(kernels) and kernels.fuses_experts(slots, self.top_k):
                return mix_token(kernels, fetch, slots, x, residual, routing.scores, self.shared)
            shared = kernels.shared_mlp(x, self.shared)
            pairs = PairProducts(kernels, x, asked, self.expert_count)
            mx.async_eval(shared)
            pairs.add_fetch(fetch, slots)
        return kernels.combine(pairs.in_order(), routing.scores, shared, residual)

    def _mix_resident(
        self,
        kernels: Kernels,
        cache: ExpertCache,
        x: mx.array,
        residual: mx.array,
        routing: Routing,
    ) -> mx.array:
        """(1, D): the router's ids are the slots', and never leave the device."""
        slots, ids = cache.slots(self.layer), routing.ids
        if fuses(kernels) and kernels.fuses_experts(slots, self.top_k):
            given = slots, ids[0], self.places, x, residual, routing.scores, self.shared
            return mix_resident(kernels, *given)
        products = kernels.expert_mlp(x, slots, ids, self.rows, False)
        shared = kernels.shared_mlp(x, self.shared)
        return kernels.combine(products, routing.scores, shared, residual)

    def _likely(
        self, kernels: Kernels, memory: ExpertMemory, residual: mx.array
    ) -> tuple[mx.array, ...]:
        """What the next layer will probably choose, (1, k), where that is worth a guess."""
        return self._next_choice(kernels, memory, residual) if memory.lookahead.looks else ()

    def _next_choice(
        self, kernels: Kernels, memory: ExpertMemory, residual: mx.array
    ) -> tuple[mx.array, ...]:
        """What the next layer's router makes of this hidden state: (T, k), if there is one."""
        if self.layer >= len(memory.routers):
            return ()
        ahead = memory.routers[self.layer]
        x = kernels.rms_norm(residual, ahead.norm, ahead.eps)
        return (kernels.route(x, ahead.gate, self.top_k, self.renormalize).ids,)

    def _through_slots(
        self,
        cache: ExpertCache,
        pairs: "PairProducts",
        shared: mx.array,
        check: Callable[[], None],
    ) -> None:
        needed, slots = pairs.needed(), cache.slot_count(self.layer)
        for start in range(0, needed.size, slots):
            check()
            with cache.begin(self.layer, needed[start : start + slots]) as fetch:
                mx.async_eval(shared)
                pairs.add_fetch(fetch, cache.slots(self.layer))
                if needed.size > slots:
                    mx.eval(pairs.outputs)  # the next group takes these slots

    def _sweep(
        self,
        cache: ExpertCache,
        staging: Staging,
        pairs: "PairProducts",
        check: Callable[[], None],
        admit: bool,
        likely: Ids | None,
    ) -> None:
        """Read each expert once: some into slots or from them, the others through staging.

        While one group computes, the next is read; after the last, what the next layer needs.
        """
        coming = deque(staging.take_ahead(self.layer))
        in_slots, staged = self._split(cache, pairs, admit, coming)
        groups = deque(_groups(staged.tolist(), staging.group_size))
        ahead = self._ahead(cache, staging, likely, admit)

        def load_next() -> None:
            if groups:
                coming.append(staging.load(self.layer, groups.popleft()))
            elif ahead:
                staging.load_ahead(self.layer + 1, ahead.popleft())

        def compute_next() -> None:
            check()
            pairs.add_group(coming.popleft())
            load_next()

        with cache.begin(self.layer, in_slots) as fetch:
            for _ in range(len(coming)):  # first what is there: the disk needs the buffers
                compute_next()
            while groups and len(coming) < BUFFERS:
                load_next()
            pairs.add_fetch(fetch, cache.slots(self.layer))
            mx.eval(pairs.outputs)
        while coming:
            compute_next()

    def _ahead(
        self, cache: ExpertCache, staging: Staging, likely: Ids | None, admit: bool
    ) -> deque[list[int]]:
        """Groups that the next layer will surely ask for, the most wanted first.

        Where it will `admit`, its slots are to be filled first, when nothing else is read.
        """
        if likely is None:
            return deque()
        layer = self.layer + 1
        counts = np.bincount(likely.ravel(), minlength=self.expert_count)
        wanted = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts >= SURE)]
        if admit:
            slots = cache.slot_count(layer)
            cache.guess(layer, wanted[:slots].tolist(), slots)
        absent = wanted[cache.slot_map(layer)[wanted] < 0]
        return deque(_groups(absent.tolist(), staging.group_size)[:BUFFERS])

    def _split(
        self, cache: ExpertCache, pairs: "PairProducts", admit: bool, coming: Iterable[StagedGroup]
    ) -> tuple[Ids, Ids]:
        """The needed experts that go by the slots, and by staging, beside those `coming`."""
        counts = np.bincount(pairs.asked, minlength=self.expert_count)
        for group in coming:
            counts[list(group.experts)] = 0
        if admit:
            guessed = cache.guessed(self.layer)  # in their slots, or nearly: never read them twice
            rank = counts.copy()
            rank[guessed] += counts.max()
            by_slots = np.zeros(self.expert_count, np.bool_)
            by_slots[np.argsort(-rank, kind="stable")[: cache.slot_count(self.layer)]] = True
        else:
            by_slots = cache.slot_map(self.layer) >= 0
        needed = counts > 0
        return (
            np.flatnonzero(needed & by_slots).astype(np.uint32),
            np.flatnonzero(needed & ~by_slots).astype(np.uint32),
        )


def _groups(experts: list[int], size: int) -> list[list[int]]:
    return [experts[start : start + size] for start in range(0, len(experts), size)]


def unheard(layer: int, asked: Ids) -> None:
    """Nobody records the routing."""


class PairProducts:
    """The products of (token, expert) pairs, collected in whatever order their experts come."""

    def __init__(self, kernels: Kernels, x: mx.array, asked: Ids, expert_count: int) -> None:
        self.kernels = kernels
        self.x = x  # (T, D)
        self.asked = asked.ravel()  # pair p is token p // k's
        self.top_k = asked.shape[1]
        self.slot_of = np.full(expert_count, -1, np.int64)
        self.outputs: list[mx.array] = []
        self.positions: list[Positions] = []
        self.placing = kernels if places(kernels) else None
        if self.placing:
            self.placed = self.placing.blank_pairs(self.asked.size, x.shape[1])

    def needed(self) -> Ids:
        """The distinct experts."""
        return self.asked if self.asked.size == self.top_k else np.unique(self.asked)

    def add_fetch(self, fetch: Fetch, slots: LayerSlots) -> None:
        """Compute the pairs of a group: the hits while the misses are still being read."""
        hits = fetch.hit_mask
        self.add(slots, fetch.experts[hits], fetch.slot_ids[hits])
        if not hits.all():
            mx.async_eval(self.outputs)
            fetch.wait()
            self.add(slots, fetch.experts[~hits], fetch.slot_ids[~hits])

    def add_group(self, group: StagedGroup) -> None:
        """Compute the pairs of a staged group when it is read. Its slots are free afterwards."""
        group.wait()
        experts = np.array(group.experts, np.uint32)
        self.add(group.slots, experts, np.arange(experts.size, dtype=np.uint32))
        mx.eval(self.outputs)

    def add(self, slots: LayerSlots, experts: Ids, slot_ids: Ids) -> None:
        """Start the products of all pairs that ask for `experts`, which lie in `slot_ids`."""
        if not experts.size:
            return
        self.slot_of[experts] = slot_ids
        wanted = self.slot_of[self.asked]  # (T·k,): -1 where not in this call
        self.slot_of[experts] = -1
        positions = np.flatnonzero(wanted >= 0)
        if not positions.size:  # read ahead, and not asked for after all
            return
        if self.placing:
            pairs = (wanted[positions], positions // self.top_k, positions)
            given = (part.astype(np.uint32) for part in pairs)
            self.placing.fill_pairs(self.placed, self.x, slots, *given)
        else:
            self._add_ordered(slots, wanted, positions)

    def _add_ordered(
        self, slots: LayerSlots, wanted: NDArray[np.int64], positions: Positions
    ) -> None:
        several = self.asked.size > self.top_k
        if several:  # rows of one expert side by side: its weights are read once
            positions = positions[np.argsort(wanted[positions], kind="stable")]
        y = self.kernels.expert_mlp(
            self.x,
            slots,
            mx.array(wanted[positions].astype(np.uint32)),
            mx.array((positions // self.top_k).astype(np.uint32)),
            several,
        )
        self.outputs.append(y)
        self.positions.append(positions)

    def in_order(self) -> mx.array:
        """All products as the router listed the pairs: (T·k, D). Ask once."""
        if self.placing:
            return self.placing.filled_pairs(self.placed)
        positions = np.concatenate(self.positions)
        joined = self.outputs[0] if len(self.outputs) == 1 else mx.concatenate(self.outputs)
        self.outputs.clear()  # or they would lie beside their two copies
        if (positions[:-1] < positions[1:]).all():
            return joined
        return joined[mx.array(np.argsort(positions).astype(np.uint32))]


def sparse_experts(
    tensors: Mapping[str, mx.array], prefix: str, layer: int, config: ModelConfig
) -> SparseExperts:
    """Build from the dense tensors under `prefix` (`model.layers.3.mlp`)."""
    gate, up, down = (
        linear(tensors, f"{prefix}.shared_expert.{name}_proj", config)
        for name in ("gate", "up", "down")
    )
    shared = SharedExpert(gate, up, down, linear(tensors, f"{prefix}.shared_expert_gate", config))
    return SparseExperts(
        layer,
        linear(tensors, f"{prefix}.gate", config),
        shared,
        config.expert_count,
        config.experts_per_token,
        config.norm_topk_prob,
        mx.arange(config.experts_per_token, dtype=mx.uint32),
        mx.zeros((config.experts_per_token,), mx.uint32),
    )
