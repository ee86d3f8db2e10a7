"""What stands around attention in a decode step: `attention_heads.metal`, `attention_gate.metal`.

Attention itself is `mx.fast.scaled_dot_product_attention`, which reads the cache where it lies.
"""

from functools import cache

import mlx.core as mx
import numpy as np

from engine.model.kernels import AttentionWeights
from engine.model.metal.shader import Kernel, Shader, grid

HEADS = Shader(
    "attention_heads",
    inputs=("q_gate", "k", "q_norm", "k_norm", "frequencies", "past", "eps"),
    outputs=("queries", "keys"),
)
GATE = Shader("attention_gate", inputs=("y", "q_gate"), outputs=("out",))

GATE_SIMDGROUPS = 8


def heads(
    kernel: Kernel,
    q_gate: mx.array,  # (T, H·2d)
    k: mx.array,  # (T, K·d)
    past: int,
    w: AttentionWeights,
) -> tuple[mx.array, mx.array]:
    """Normed and rotated: queries (1, H, T, d), keys (K, T, d)."""
    tokens, d = k.shape[0], w.head_dim
    queries, keys = kernel(
        inputs=[
            *(q_gate, k, w.q_norm, w.k_norm),
            *(frequencies(w.rope_theta, w.rotary_dim), past, w.eps),
        ],
        output_shapes=[(1, w.heads, tokens, d), (w.kv_heads, tokens, d)],
        output_dtypes=[q_gate.dtype, k.dtype],
        template=[
            *(("T", k.dtype), ("H", w.heads), ("K", w.kv_heads)),
            *(("D", d), ("ROTARY", w.rotary_dim)),
        ],
        **grid(w.heads + w.kv_heads, tokens, 1),
    )
    return queries, keys


def gate(kernel: Kernel, y: mx.array, q_gate: mx.array, w: AttentionWeights) -> mx.array:
    """y (1, H, T, d) times the sigmoid of the gates: (T, H·d)."""
    tokens, width = y.shape[2], w.heads * w.head_dim
    (out,) = kernel(
        inputs=[y, q_gate],
        output_shapes=[(tokens, width)],
        output_dtypes=[y.dtype],
        template=[("T", y.dtype), ("H", w.heads), ("D", w.head_dim)],
        **grid(-(-width // (32 * GATE_SIMDGROUPS)), tokens, GATE_SIMDGROUPS),
    )
    return out


@cache
def frequencies(theta: float, rotary_dim: int) -> mx.array:
    """Radians a position, (rotary_dim / 2,) float32, rounded once from float64."""
    half = rotary_dim // 2
    return mx.array((theta ** (-np.arange(half) / half)).astype(np.float32))
