"""The sparse experts of a layer: route, fetch what is missing, compute, combine.

The product of a (token, expert) pair depends on nothing but the pair, and a token's pairs are
summed in the router's order: so the output is the same whatever lay in the slots.
Letters as in `engine.model.kernels`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from engine.config import ModelConfig
from engine.experts.cache import ExpertCache, Fetch
from engine.experts.slots import LayerSlots
from engine.model.kernels import Kernels, SharedExpert
from engine.model.weights import Linear, linear

Ids = NDArray[np.uint32]
Positions = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class SparseExperts:
    """A layer's router, shared expert and place in the cache."""

    layer: int
    gate: Linear  # (E, D)
    shared: SharedExpert
    expert_count: int
    top_k: int
    renormalize: bool

    def mix(
        self,
        kernels: Kernels,
        cache: ExpertCache,
        x: mx.array,
        residual: mx.array,
        check: Callable[[], None],
    ) -> mx.array:
        """Normed input and residual (T, D) -> (T, D). `check` raises to give up between groups."""
        routing = kernels.route(x, self.gate, self.top_k, self.renormalize)
        asked: Ids = np.array(routing.ids)  # the layer's one readback, (T, k)
        shared = kernels.shared_mlp(x, self.shared)
        pairs = PairProducts(kernels, x, asked, self.expert_count)
        for group in in_groups(asked, cache.slot_count(self.layer)):
            check()
            with cache.begin(self.layer, group) as fetch:
                mx.async_eval(shared)
                pairs.add(fetch, cache.slots(self.layer))
                if asked.shape[0] > 1:
                    mx.eval(pairs.outputs)  # the next group may take these slots
        return kernels.combine(pairs.in_order(), routing.scores, shared, residual)


def in_groups(asked: Ids, slots: int) -> list[Ids]:
    """The distinct experts, in groups that the slots can hold at once."""
    needed = asked[0] if asked.shape[0] == 1 else np.unique(asked)
    return [needed[start : start + slots] for start in range(0, needed.size, slots)]


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

    def add(self, fetch: Fetch, slots: LayerSlots) -> None:
        """Compute the pairs of a group: the hits while the misses are still being read."""
        hits = fetch.hit_mask
        self._start(slots, fetch.experts[hits], fetch.slot_ids[hits])
        if not hits.all():
            mx.async_eval(self.outputs)
            fetch.wait()
            self._start(slots, fetch.experts[~hits], fetch.slot_ids[~hits])

    def in_order(self) -> mx.array:
        """All products as the router listed the pairs: (T·k, D)."""
        positions = np.concatenate(self.positions)
        joined = self.outputs[0] if len(self.outputs) == 1 else mx.concatenate(self.outputs)
        if (positions[:-1] < positions[1:]).all():
            return joined
        return joined[mx.array(np.argsort(positions).astype(np.uint32))]

    def _start(self, slots: LayerSlots, experts: Ids, slot_ids: Ids) -> None:
        if not experts.size:
            return
        self.slot_of[experts] = slot_ids
        wanted = self.slot_of[self.asked]  # (T·k,): -1 where not in this call
        self.slot_of[experts] = -1
        positions = np.flatnonzero(wanted >= 0)
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
    )
