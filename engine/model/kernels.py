"""Kernels: the seam between the model's structure and how its pieces are computed.

`PlainKernels` (plain.py) is the formula in MLX operations: the twin that every fast path is
compared with. The native core (CPU) and the Metal shaders override pieces of it.

Letters: T tokens, D hidden, H heads, K key/value heads, d head dim, C conv channels,
Hk, Hv linear key and value heads, dk, dv their dims, E experts, k top-k, N (token, expert) pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import mlx.core as mx

from engine.config import ModelConfig
from engine.experts.slots import LayerSlots
from engine.model.weights import Linear
from engine.sampling import ResolvedOptions, Sampler


@dataclass(frozen=True, slots=True)
class DeltaNetWeights:
    """What the recurrent part of a Gated DeltaNet layer needs beside its projections."""

    conv: mx.array  # (C, 4, 1), taps oldest first
    a_log: mx.array  # (Hv,) float32
    dt_bias: mx.array  # (Hv,)
    norm: mx.array  # (dv,)
    key_heads: int  # Hk
    value_heads: int  # Hv
    key_dim: int  # dk
    value_dim: int  # dv
    eps: float


@dataclass(frozen=True, slots=True)
class AttentionWeights:
    """What gated attention needs beside its projections."""

    q_norm: mx.array  # (d,)
    k_norm: mx.array  # (d,)
    heads: int  # H
    kv_heads: int  # K
    head_dim: int  # d
    rotary_dim: int
    rope_theta: float
    eps: float


class Kernels(Protocol):
    """Every piece takes and gives arrays in `dtype` unless it says float32."""

    dtype: mx.Dtype
    recycles: bool  # whether `delta_net` writes into what it is given as `spare`

    def scratch_bytes(self, config: ModelConfig, tokens: int) -> int:
        """At most what lies beside weights and state while a chunk of T tokens passes a layer."""
        ...

    def embed(self, table: Linear, ids: mx.array) -> mx.array:
        """Rows of the table: ids (T,) -> (T, D). The table itself is not dequantized."""
        ...

    def linear(self, x: mx.array, w: Linear) -> mx.array:
        """(T, I) -> (T, O)."""
        ...

    def linears(self, x: mx.array, weights: tuple[Linear, ...]) -> tuple[mx.array, ...]:
        """`linear` by each of several matrices."""
        ...

    def rms_norm(self, x: mx.array, weight: mx.array, eps: float) -> mx.array:
        """Over the last axis; the weight is used as stored."""
        ...

    def add_rms_norm(
        self, x: mx.array, more: mx.array, weight: mx.array, eps: float
    ) -> tuple[mx.array, mx.array]:
        """x + more, and its norm."""
        ...

    def delta_net(
        self,
        mixed: mx.array,  # (T, C): q, k, v side by side, before the convolution
        z: mx.array,  # (T, Hv·dv)
        a: mx.array,  # (T, Hv)
        b: mx.array,  # (T, Hv)
        conv_state: mx.array,  # (3, C): the last inputs of the convolution
        delta_state: mx.array,  # (Hv, dv, dk) float32
        w: DeltaNetWeights,
        spare: mx.array | None = None,  # like delta_state: memory that the new one may take
    ) -> tuple[mx.array, mx.array, mx.array]:
        """Convolution, recurrence and gated norm: (T, Hv·dv), new conv state, new delta state."""
        ...

    def attention(
        self,
        q_gate: mx.array,  # (T, H·2d): per head query, then gate
        k: mx.array,  # (T, K·d)
        v: mx.array,  # (T, K·d)
        keys: mx.array,  # (K, room, d): rows [0, past) are filled; room suffices
        values: mx.array,
        past: int,
        w: AttentionWeights,
    ) -> mx.array:
        """Norms, partial RoPE, causal attention, output gate: (T, H·d).

        Writes the T new rows into keys and values at [past, past + T), in place: a cache has one
        owner, and rows at and after `past` mean nothing to anyone else.
        """
        ...

    def route(self, x: mx.array, gate: Linear, k: int, renormalize: bool) -> "Routing":
        """Softmax over all experts in float32, then the top k (ties: the lower id)."""
        ...

    def expert_mlp(
        self,
        x: mx.array,  # (T, D)
        slots: LayerSlots,
        slot_ids: mx.array,  # (N,) or (1, N) uint32, ascending where `ordered`
        rows: mx.array,  # (N,) uint32: which row of x
        ordered: bool,
    ) -> mx.array:
        """down(silu(gate x) * up x) of each pair: (N, D). No pair depends on another."""
        ...

    def shared_mlp(self, x: mx.array, w: "SharedExpert") -> mx.array:
        """sigmoid(gate x) * down(silu(gate_proj x) * up_proj x): (T, D)."""
        ...

    def combine(
        self,
        pairs: mx.array,  # (T·k, D) in the router's order
        scores: mx.array,  # (T, k) float32
        shared: mx.array,  # (T, D)
        residual: mx.array,  # (T, D)
    ) -> mx.array:
        """residual + shared + the score-weighted sum over a token's experts: (T, D)."""
        ...

    def sampler(
        self, options: ResolvedOptions, vocab_size: int, prompt_ids: Sequence[int]
    ) -> Sampler:
        """What draws the tokens of an answer."""
        ...


@dataclass(frozen=True, slots=True)
class Routing:
    """ids (T, k) uint32 and scores (T, k) float32, best first."""

    ids: mx.array
    scores: mx.array


@dataclass(frozen=True, slots=True)
class SharedExpert:
    """The expert that every token passes, and its gate (1, D)."""

    gate_proj: Linear
    up_proj: Linear
    down_proj: Linear
    gate: Linear
