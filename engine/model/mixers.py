"""The token mixers: a Gated DeltaNet layer and a gated attention layer, from their tensors.

Both checkpoints' forms of the DeltaNet projections become one: fused ones (`in_proj_qkvz`,
`in_proj_ba`) are grouped by key head and taken apart after the product, split ones
(`in_proj_qkv`, `z`, `b`, `a`) are used as they are. Letters as in `engine.model.kernels`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import mlx.core as mx

from engine.config import ModelConfig
from engine.model.kernels import AttentionWeights, DeltaNetWeights, Kernels
from engine.model.state import DeltaState, KeyValueCache
from engine.model.weights import Linear, linear, vector

Tensors = Mapping[str, mx.array]


@dataclass(frozen=True, slots=True)
class FusedProjections:
    """`qwen3_next`: rows grouped by key head."""

    qkvz: Linear
    ba: Linear

    def project(
        self, kernels: Kernels, x: mx.array, w: DeltaNetWeights
    ) -> tuple[mx.array, mx.array, mx.array, mx.array]:
        """(T, D) -> mixed (T, C), z (T, Hv·dv), a (T, Hv), b (T, Hv)."""
        tokens, per_key = x.shape[0], w.value_heads // w.key_heads
        qkvz = kernels.linear(x, self.qkvz).reshape(tokens, w.key_heads, -1)
        ends = [w.key_dim, 2 * w.key_dim, 2 * w.key_dim + per_key * w.value_dim]
        q, k, v, z = (part.reshape(tokens, -1) for part in mx.split(qkvz, ends, axis=-1))
        ba = kernels.linear(x, self.ba).reshape(tokens, w.key_heads, -1)
        b, a = (part.reshape(tokens, -1) for part in mx.split(ba, [per_key], axis=-1))
        return mx.concatenate([q, k, v], axis=-1), z, a, b


@dataclass(frozen=True, slots=True)
class SplitProjections:
    """`qwen3_5_moe`: flat, one matrix a part."""

    qkv: Linear
    z: Linear
    b: Linear
    a: Linear

    def project(
        self, kernels: Kernels, x: mx.array, w: DeltaNetWeights
    ) -> tuple[mx.array, mx.array, mx.array, mx.array]:
        """(T, D) -> mixed (T, C), z (T, Hv·dv), a (T, Hv), b (T, Hv)."""
        mixed, z = kernels.linear(x, self.qkv), kernels.linear(x, self.z)
        return mixed, z, kernels.linear(x, self.a), kernels.linear(x, self.b)


@dataclass(frozen=True, slots=True)
class DeltaNet:
    """A Gated DeltaNet layer."""

    projections: FusedProjections | SplitProjections
    out: Linear
    weights: DeltaNetWeights

    def mix(self, kernels: Kernels, x: mx.array, state: DeltaState) -> tuple[mx.array, DeltaState]:
        """(T, D) -> (T, D) and the state after these tokens."""
        mixed, z, a, b = self.projections.project(kernels, x, self.weights)
        y, conv, delta = kernels.delta_net(mixed, z, a, b, state.conv, state.delta, self.weights)
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
        q, k, v = (kernels.linear(x, w) for w in (self.q, self.k, self.v))
        y = kernels.attention(q, k, v, cache.keys, cache.values, past, self.weights)
        return kernels.linear(y, self.out)


def delta_net(tensors: Tensors, prefix: str, config: ModelConfig, dtype: mx.Dtype) -> DeltaNet:
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
    names = ("qkvz", "ba") if fused else ("qkv", "z", "b", "a")
    parts = [linear(tensors, f"{prefix}.in_proj_{name}", config) for name in names]
    projections = FusedProjections(*parts) if fused else SplitProjections(*parts)
    return DeltaNet(projections, linear(tensors, f"{prefix}.out_proj", config), weights)


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
