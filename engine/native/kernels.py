"""NativeKernels: the forward pass's pieces on the CPU by the native core, float32 activations.

Weights are read as they lie. A call computes at once: MLX evaluates what it is given, and gets the
result as a fresh array. Letters as in `engine.model.kernels`.
"""

import math
import weakref
from collections.abc import Callable
from ctypes import POINTER, Array, addressof, c_char, c_void_p, pointer
from typing import Any, Generic, TypeVar

import mlx.core as mx
import numpy as np

from engine.config import ModelConfig
from engine.experts.slots import ExpertMatrix, LayerSlots
from engine.model.kernels import AttentionWeights, DeltaNetWeights, Routing, SharedExpert
from engine.model.plain import PlainKernels
from engine.model.weights import Linear
from engine.native import core
from engine.native.core import Matrix, NativeCore

Structure = TypeVar("Structure")
Ids = np.ndarray[Any, np.dtype[np.uint32]]

Buffer = np.ndarray[Any, np.dtype[np.float32]] | mx.array

TYPES = {mx.float32: 0, mx.float16: 1, mx.bfloat16: 2}  # as in martlet.h
# A result up to this size is copied faster than MLX makes an array: numpy's memory is warm, while
# MLX fills its own with zeros, often in pages that the system has to clear first.
_COPIED_BYTES = 1 << 23


class NativeKernels(PlainKernels):
    """See `engine.model.kernels.Kernels`."""

    recycles = True

    def __init__(self, native: NativeCore) -> None:
        super().__init__(mx.float32)
        self.core = native
        self._matrices: Described[Matrix] = Described()
        self._several: Described[Array[Any]] = Described()
        self._experts: Described[core.Experts] = Described()
        self._shared: Described[core.SharedExpert] = Described()
        self._delta_nets: Described[core.DeltaNet] = Described()
        self._attentions: Described[core.Attention] = Described()

    def scratch_bytes(self, config: ModelConfig, tokens: int) -> int:
        """The recurrence keeps one state a layer, and products are made for a group at a time."""
        hidden, inner = config.hidden_size, config.expert_intermediate_size
        values = config.linear_value_head_count * config.linear_value_head_dim
        mixer = 2 * config.conv_dim + 2 * values  # before and after the convolution; gate, result
        pairs = config.experts_per_token * (hidden + 2 * inner)
        row = max(mixer, pairs) + 3 * hidden  # residual, its norm, what is added
        largest = max(config.conv_dim, config.experts_per_token * hidden)
        return 4 * tokens * row + min(4 * tokens * largest, _COPIED_BYTES)

    def embed(self, table: Linear, ids: mx.array) -> mx.array:
        ids, ids_at = row_major(ids)
        y, y_at = blank(ids.shape[0], table.in_features)
        self.core.embed(self._matrix(table), ids_at, y_at, ids.shape[0])
        return filled(y)

    def linear(self, x: mx.array, w: Linear) -> mx.array:
        x, x_at = row_major(x)
        y, y_at = blank(x.shape[0], w.out_features)
        self.core.linear(self._matrix(w), x_at, y_at, x.shape[0])
        return filled(y)

    def linears(self, x: mx.array, weights: tuple[Linear, ...]) -> tuple[mx.array, ...]:
        x, x_at = row_major(x)
        matrices = self._several.get(weights[0].weight, lambda: self._pointers(weights))
        results = [blank(x.shape[0], w.out_features) for w in weights]
        places = (c_void_p * len(results))(*(at for _, at in results))
        self.core.linears(matrices, x_at, places, x.shape[0])
        return tuple(filled(buffer) for buffer, _ in results)

    def rms_norm(self, x: mx.array, weight: mx.array, eps: float) -> mx.array:
        x, x_at = row_major(x)
        weight, weight_at = row_major(weight)
        y, y_at = blank(*x.shape)
        self.core.rms_norm(x_at, weight_at, eps, y_at, x.size // weight.size, weight.size)
        return filled(y)

    def add_rms_norm(
        self, x: mx.array, more: mx.array, weight: mx.array, eps: float
    ) -> tuple[mx.array, mx.array]:
        x, x_at = row_major(x)
        more, more_at = row_major(more)
        weight, weight_at = row_major(weight)
        (total, total_at), (y, y_at) = blank(*x.shape), blank(*x.shape)
        inputs, outputs = (x_at, more_at, weight_at), (total_at, y_at)
        self.core.add_norm(inputs, eps, outputs, x.size // weight.size, weight.size)
        return filled(total), filled(y)

    def delta_net(
        self,
        mixed: mx.array,
        z: mx.array,
        a: mx.array,
        b: mx.array,
        conv_state: mx.array,
        delta_state: mx.array,
        w: DeltaNetWeights,
        spare: mx.array | None = None,
    ) -> tuple[mx.array, mx.array, mx.array]:
        held = [row_major(array) for array in (mixed, z, a, b, conv_state, delta_state)]
        results = [blank(*array.shape) for array in (z, conv_state)]
        results.append((spare, address(spare)) if spare is not None else blank(*delta_state.shape))
        arrays = core.DeltaArrays(*(at for _, at in (*held, *results)))
        self.core.delta_net(self._delta_nets.get(w.conv, lambda: _delta_net(w)), arrays, len(mixed))
        y, conv, delta = (filled(buffer) for buffer, _ in results)
        return y, conv, delta

    def attention(
        self,
        q_gate: mx.array,
        k: mx.array,
        v: mx.array,
        keys: mx.array,
        values: mx.array,
        past: int,
        w: AttentionWeights,
    ) -> mx.array:
        held = [row_major(array) for array in (q_gate, k, v)]
        y, y_at = blank(len(k), w.heads * w.head_dim)
        # The cache itself, never a copy: its new rows are written in place.
        cache = address(keys), address(values)
        places = [at for _, at in held]
        arrays = core.AttentionArrays(*places, *cache, y_at, past, keys.shape[1])
        self.core.attention(self._attentions.get(w.q_norm, lambda: _attention(w)), arrays, len(k))
        return filled(y)

    def route(self, x: mx.array, gate: Linear, k: int, renormalize: bool) -> Routing:
        x, x_at = row_major(x)
        shape = x.shape[0], k
        ids, scores = np.empty(shape, np.uint32), np.empty(shape, np.float32)
        outputs = address(ids), address(scores)
        self.core.route(self._matrix(gate), x_at, x.shape[0], k, renormalize, *outputs)
        return Routing(mx.array(ids), mx.array(scores))

    def expert_mlp(
        self,
        x: mx.array,
        slots: LayerSlots,
        slot_ids: mx.array,
        rows: mx.array,
        ordered: bool,
    ) -> mx.array:
        x, x_at = row_major(x)
        slot_ids, slots_at = row_major(slot_ids)
        rows, rows_at = row_major(rows)
        pairs = rows.shape[0]
        experts = self._experts.get(slots.gate.weight, lambda: _experts(slots))
        y, y_at = blank(pairs, x.shape[1])
        self.core.experts(experts, x_at, slots_at, rows_at, None, y_at, pairs)
        return filled(y)

    def blank_pairs(self, pairs: int, width: int) -> Buffer:
        return blank(pairs, width)[0]

    def fill_pairs(
        self,
        products: Buffer,
        x: mx.array,
        slots: LayerSlots,
        slot_ids: Ids,
        rows: Ids,
        places: Ids,
    ) -> None:
        x, x_at = row_major(x)
        experts = self._experts.get(slots.gate.weight, lambda: _experts(slots))
        given = address(slot_ids), address(rows), address(places), address(products)
        self.core.experts(experts, x_at, *given, len(places))

    def filled_pairs(self, products: Buffer) -> mx.array:
        return filled(products)

    def shared_mlp(self, x: mx.array, w: SharedExpert) -> mx.array:
        x, x_at = row_major(x)
        shared = self._shared.get(w.gate_proj.weight, lambda: self._shared_expert(w))
        y, y_at = blank(*x.shape)
        self.core.shared(shared, x_at, y_at, x.shape[0])
        return filled(y)

    def combine(
        self, pairs: mx.array, scores: mx.array, shared: mx.array, residual: mx.array
    ) -> mx.array:
        pairs, pairs_at = row_major(pairs)
        scores, scores_at = row_major(scores)
        shared, shared_at = row_major(shared)
        residual, residual_at = row_major(residual)
        y, y_at = blank(*residual.shape)
        inputs = pairs_at, scores_at, shared_at, residual_at
        rows, k = scores.shape
        self.core.combine(inputs, y_at, rows, k, residual.shape[1])
        return filled(y)

    def _matrix(self, w: Linear) -> Matrix:
        return self._matrices.get(w.weight, lambda: _matrix(w))

    def _pointers(self, weights: tuple[Linear, ...]) -> Array[Any]:
        matrices = [self._matrix(w) for w in weights]
        return (POINTER(Matrix) * len(matrices))(*map(pointer, matrices))

    def _shared_expert(self, w: SharedExpert) -> core.SharedExpert:
        parts = w.gate_proj, w.up_proj, w.down_proj, w.gate
        return core.SharedExpert(*(self._matrix(part) for part in parts))


class Described(Generic[Structure]):
    """What the core is told of weights, made once and forgotten together with them."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[mx.array], Structure]] = {}

    def get(self, weight: mx.array, describe: Callable[[], Structure]) -> Structure:
        """The structure for the weights of which `weight` is the first."""
        key = id(weight)
        known = self._known.get(key)
        if known is None:
            gone = weakref.ref(weight, lambda _: self._known.pop(key, None))
            known = self._known[key] = gone, describe()
        return known[1]


def row_major(array: mx.array) -> tuple[mx.array, int]:
    """The array, evaluated and contiguous, and the address of its first number."""
    try:
        return array, address(array)
    except (BufferError, TypeError):  # it has strides
        array = mx.contiguous(array)
        return array, address(array)


def address(array: mx.array | np.ndarray[Any, Any]) -> int:
    """Where the numbers lie. Evaluates an mx.array; the caller keeps it alive."""
    return addressof(c_char.from_buffer(array))  # type: ignore[arg-type]  # has a buffer


def blank(*shape: int) -> tuple[Buffer, int]:
    """Room for a float32 result, and its address. Nobody else holds it."""
    if math.prod(shape) * 4 <= _COPIED_BYTES:
        small = np.empty(shape, np.float32)
        return small, address(small)
    large = mx.zeros(shape, mx.float32)
    return large, address(large)


def filled(buffer: Buffer) -> mx.array:
    """The result as an array of MLX."""
    return buffer if isinstance(buffer, mx.array) else mx.array(buffer)


def _matrix(w: Linear | ExpertMatrix) -> Matrix:
    """Of an expert's matrices: slot 0."""
    out, packed = w.weight.shape[-2:]
    if w.scales is None or w.biases is None:
        return Matrix(address(w.weight), None, None, out, packed, 0, 0, TYPES[w.weight.dtype])
    return Matrix(
        *(address(w.weight), address(w.scales), address(w.biases)),
        *(out, packed * 32 // w.bits, w.bits, w.group_size, TYPES[w.scales.dtype]),
    )


def _experts(slots: LayerSlots) -> core.Experts:
    gate, up, down = (_matrix(matrix) for matrix in (slots.gate, slots.up, slots.down))
    return core.Experts(gate, up, down, slots.gate.weight.shape[0])


def _delta_net(w: DeltaNetWeights) -> core.DeltaNet:
    weights = (address(array) for array in (w.conv, w.a_log, w.dt_bias, w.norm))
    heads = w.key_heads, w.value_heads
    return core.DeltaNet(*weights, *heads, w.key_dim, w.value_dim, w.conv.shape[1], w.eps)


def _attention(w: AttentionWeights) -> core.Attention:
    norms = address(w.q_norm), address(w.k_norm)
    sizes = w.heads, w.kv_heads, w.head_dim, w.rotary_dim
    return core.Attention(*norms, *sizes, w.rope_theta, w.eps)
