"""The routed experts of one token, by kernels that fuse what a chunk's tokens need apart.

k experts, D hidden, I the experts' inner dimension, N experts computed together. Half of the work,
`expert_hidden`, is done as the experts come; the other half waits for the last of them and does the
down products, the weighting, the shared expert's gate and the residual at once. Every expert's row
is the same whatever it was computed with, and the rows are summed in the router's order.
"""

from typing import Any, Protocol, TypeGuard, runtime_checkable

import mlx.core as mx
import numpy as np

from engine.experts.cache import Fetch, Ids
from engine.experts.slots import LayerSlots
from engine.model.kernels import SharedExpert


@runtime_checkable
class TokenExperts(Protocol):
    """What kernels offer that fuse a token's experts."""

    def fuses_experts(self, slots: LayerSlots, k: int) -> bool:
        """Whether the rest of this protocol works for matrices like these and k experts."""
        ...

    def expert_hidden(self, x: mx.array, slots: LayerSlots, slot_ids: mx.array) -> mx.array:
        """silu(gate x) * up x of each expert: x (1, D), slot_ids (N,) -> (N, I)."""
        ...

    def expert_output(
        self,
        hidden: mx.array,  # (k, I), in any order
        places: mx.array,  # (k,) uint32: which row of hidden is the router's first, second, ...
        slots: LayerSlots,
        slot_ids: mx.array,  # (k,) uint32, in the router's order
        scores: mx.array,  # (1, k) float32
        shared: tuple[mx.array, mx.array],  # of `shared_parts`
        residual: mx.array,  # (1, D)
    ) -> mx.array:
        """residual + sigmoid(gate) · shared + the sum of scores · down hidden: (1, D)."""
        ...

    def shared_parts(self, x: mx.array, w: SharedExpert) -> tuple[mx.array, mx.array]:
        """The shared expert's output before its gate (1, D), and the gate's logit (1, 1)."""
        ...


@runtime_checkable
class PlacedPairs(Protocol):
    """What kernels offer that compute at once, each pair's product where it belongs."""

    def blank_pairs(self, pairs: int, width: int) -> Any:
        """Room for the products (N, D) of all pairs."""
        ...

    def fill_pairs(
        self, products: Any, x: mx.array, slots: LayerSlots, slot_ids: Ids, rows: Ids, places: Ids
    ) -> None:
        """`expert_mlp` of some pairs, into the rows `places` of `products`. In any order."""
        ...

    def filled_pairs(self, products: Any) -> mx.array:
        """All products, when every row is filled: (N, D)."""
        ...


def fuses(kernels: object) -> TypeGuard[TokenExperts]:
    """Whether they offer that."""
    return _offers(type(kernels), TokenExperts)


def places(kernels: object) -> TypeGuard[PlacedPairs]:
    """Whether they offer that."""
    return _offers(type(kernels), PlacedPairs)


_known: dict[tuple[type, type], bool] = {}  # looking for all methods takes as long as a product


def _offers(kind: type, protocol: type) -> bool:
    known = _known.get((kind, protocol))
    if known is None:
        known = _known[kind, protocol] = issubclass(kind, protocol)
    return known


def mix_token(
    kernels: TokenExperts,
    fetch: Fetch,
    slots: LayerSlots,
    x: mx.array,  # (1, D)
    residual: mx.array,  # (1, D)
    scores: mx.array,  # (1, k) float32
    shared: SharedExpert,
) -> mx.array:
    """(1, D). What is there computes while the rest is read. Raises ReadFailed."""
    parts = kernels.shared_parts(x, shared)
    order = np.argsort(~fetch.hit_mask, kind="stable")  # the hits, then what has to be waited for
    hits = int(fetch.hit_mask.sum())
    rows = [kernels.expert_hidden(x, slots, _ids(fetch.slot_ids[order[:hits]]))] if hits else []
    if hits < order.size:
        mx.async_eval(*parts, *rows)
        fetch.wait()
        rows.append(kernels.expert_hidden(x, slots, _ids(fetch.slot_ids[order[hits:]])))
    hidden = rows[0] if len(rows) == 1 else mx.concatenate(rows)
    places = _ids(np.argsort(order))
    return kernels.expert_output(
        hidden, places, slots, _ids(fetch.slot_ids), scores, parts, residual
    )


def mix_resident(
    kernels: TokenExperts,
    slots: LayerSlots,
    slot_ids: mx.array,  # (k,) uint32, in the router's order, not evaluated
    places: mx.array,  # (k,) uint32: 0, 1, 2, ...
    x: mx.array,  # (1, D)
    residual: mx.array,  # (1, D)
    scores: mx.array,  # (1, k) float32
    shared: SharedExpert,
) -> mx.array:
    """(1, D), where every expert is there: nothing is waited for."""
    hidden = kernels.expert_hidden(x, slots, slot_ids)
    parts = kernels.shared_parts(x, shared)
    return kernels.expert_output(hidden, places, slots, slot_ids, scores, parts, residual)


def _ids(values: np.ndarray) -> mx.array:
    return mx.array(values.astype(np.uint32))
