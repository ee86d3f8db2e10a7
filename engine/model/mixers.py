"""The token mixers: a Gated DeltaNet layer and a gated attention layer, from their tensors.

Both checkpoints' forms of the DeltaNet projections become one: fused ones (`in_proj_qkvz`,
`in_proj_ba`), whose rows are grouped by key head, are taken apart when they are loaded, so that no
token has to. Letters as in `engine.model.kernels`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import mlx.core as mx
import numpy as np

from engine.config import ModelConfig
from engine.model.kernels import AttentionWeights, DeltaNetWeights, Kernels
from engine.model.state import DeltaState, KeyValueCache
from engine.model.weights import Linear, linear, rows_of, vector

Tensors = Mapping[str, mx.array]


@dataclass(frozen=True, slots=True)
class Projections:
    """One matrix a part: C, Hv·dv, Hv and Hv rows."""

    qkv: Linear
    z: Linear
    b: Linear
    a: Linear


@dataclass(frozen=True, slots=True)
class DeltaNet:
    """A Gated DeltaNet layer."""

    projections: Projections
    out: Linear
    weights: DeltaNetWeights

    def mix(
        self, kernels: Kernels, x: mx.array, state: DeltaState, spare: mx.array | None
    ) -> tuple[mx.array, DeltaState]:
        """(T, D) -> (T, D) and the state after these tokens, which may lie in `spare`."""
        parts = self.projections
        mixed, z, a, b = kernels.linears(x, (parts.qkv, parts.z, parts.a, parts.b))
        held = state.conv, state.delta, self.weights, spare
        y, conv, delta = kernels.delta_net(mixed, z, a, b, *held)
        return kernels.linear(y, self.out), DeltaState(conv, delta)


@dataclass(frozen=True, slots=True)
class Attention:
    """A gated attention layer."""

    q: Linear  # (H·2d, D): per head query, then gate
    k: Linear
    v: Linear
    out: Linear
    weights: AttentionWeights

    def mix(self, kernels: Kernels, x: mx.array, cache: KeyValueCache, past: int) -> mx.array:
        """(T, D) -> (T, D); the cache has room for T more rows."""
        q, k, v = kernels.linears(x, (self.q, self.k, self.v))
        y = kernels.attention(q, k, v, cache.keys, cache.values, past, self.weights)
        return kernels.linear(y, self.out)


def delta_net(
    tensors: dict[str, mx.array], prefix: str, config: ModelConfig, dtype: mx.Dtype
) -> DeltaNet:
    """Build from the tensors under `prefix` (`model.layers.3.linear_attn`)."""
    weights = DeltaNetWeights(
        conv=vector(tensors, f"{prefix}.conv1d.weight", dtype),
        a_log=vector(tensors, f"{prefix}.A_log", mx.float32),
        dt_bias=vector(tensors, f"{prefix}.dt_bias", dtype),
        norm=vector(tensors, f"{prefix}.norm.weight", dtype),
        key_heads=config.linear_key_head_count,
        value_heads=config.linear_value_head_count,
        key_dim=config.linear_key_head_dim,
        value_dim=config.linear_value_head_dim,
        eps=config.rms_norm_eps,
    )
    fused = f"{prefix}.in_proj_qkvz.weight" in tensors
    projections = (_taken_apart if fused else _projections)(tensors, prefix, config)
    return DeltaNet(projections, linear(tensors, f"{prefix}.out_proj", config), weights)


def _projections(tensors: dict[str, mx.array], prefix: str, config: ModelConfig) -> Projections:
    return Projections(
        *(linear(tensors, f"{prefix}.in_proj_{part}", config) for part in ("qkv", "z", "b", "a"))
    )


def _taken_apart(tensors: dict[str, mx.array], prefix: str, config: ModelConfig) -> Projections:
    """From matrices whose rows are q, k, v, z and b, a of one key head after the other.

    Removes them from `tensors`: the parts are copies, and two of each are not in the plan.
    """
    key_heads, key = config.linear_key_head_count, config.linear_key_head_dim
    heads = config.linear_value_head_count // key_heads
    values = heads * config.linear_value_head_dim
    q, k, v, z = _row_numbers(key_heads, key, key, values, values)
    b, a = _row_numbers(key_heads, heads, heads)
    qkvz = linear(tensors, f"{prefix}.in_proj_qkvz", config)
    ba = linear(tensors, f"{prefix}.in_proj_ba", config)
    parts = Projections(
        rows_of(qkvz, np.concatenate([q, k, v])), rows_of(qkvz, z), rows_of(ba, b), rows_of(ba, a)
    )
    for name in [name for name in tensors if name.startswith(f"{prefix}.in_proj_")]:
        del tensors[name]
    return parts


def _row_numbers(groups: int, *sizes: int) -> list[np.ndarray]:
    """Of each part: its rows in a matrix where every group has one stretch of every part."""
    numbers = np.arange(groups * sum(sizes)).reshape(groups, -1)
    return [part.ravel() for part in np.split(numbers, np.cumsum(sizes)[:-1], axis=1)]


def attention(tensors: Tensors, prefix: str, config: ModelConfig, dtype: mx.Dtype) -> Attention:
    """Build from the tensors under `prefix` (`model.layers.3.self_attn`)."""
    weights = AttentionWeights(
        q_norm=vector(tensors, f"{prefix}.q_norm.weight", dtype),
        k_norm=vector(tensors, f"{prefix}.k_norm.weight", dtype),
        heads=config.head_count,
        kv_heads=config.kv_head_count,
        head_dim=config.head_dim,
        rotary_dim=config.rotary_dim,
        rope_theta=config.rope_theta,
        eps=config.rms_norm_eps,
    )
    q, k, v, out = (linear(tensors, f"{prefix}.{name}_proj", config) for name in "qkvo")
    return Attention(q, k, v, out, weights)
