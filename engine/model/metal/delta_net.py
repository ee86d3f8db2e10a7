"""One decode step of a Gated DeltaNet layer in one launch: see `delta_net.metal`.

MLX's own `mx.fast.gated_delta_update` is the recurrence alone; around it stand some twenty small
operations. It stays the way of a prefill, whose chunks it does better than a step by step kernel.
"""

import mlx.core as mx

from engine.model.kernels import DeltaNetWeights
from engine.model.metal.shader import Kernel, Shader, grid

STEP = Shader(
    "delta_net",
    inputs=(
        *("mixed", "z", "a", "b", "conv_state", "state"),
        *("conv", "a_log", "dt_bias", "norm", "eps"),
    ),
    outputs=("y", "new_conv_state", "new_state"),
)

SIMDGROUPS = 16  # of a head: 8 rows of 128 each, which their lanes hold in 32 registers


def step(
    kernel: Kernel,
    mixed: mx.array,  # (1, C)
    z: mx.array,  # (1, Hv·dv)
    a: mx.array,  # (1, Hv)
    b: mx.array,  # (1, Hv)
    conv_state: mx.array,  # (3, C)
    delta_state: mx.array,  # (Hv, dv, dk) float32
    w: DeltaNetWeights,
) -> tuple[mx.array, mx.array, mx.array]:
    """See `Kernels.delta_net`, for one token."""
    y, conv, delta = kernel(
        inputs=[
            *(mixed, z, a, b, conv_state, delta_state),
            *(w.conv, w.a_log, w.dt_bias, w.norm, w.eps),
        ],
        output_shapes=[z.shape, conv_state.shape, delta_state.shape],
        output_dtypes=[z.dtype, conv_state.dtype, mx.float32],
        template=[
            *(("T", z.dtype), ("HK", w.key_heads), ("HV", w.value_heads)),
            *(("DK", w.key_dim), ("DV", w.value_dim), ("TAPS", w.conv.shape[1])),
            ("SIMDGROUPS", SIMDGROUPS),
        ],
        **grid(w.value_heads, 1, SIMDGROUPS),
    )
    return y, conv, delta
