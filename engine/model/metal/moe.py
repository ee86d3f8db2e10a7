"""The routed experts of a token in two launches: see `moe_hidden.metal`, `moe_output.metal`.

Letters as in `engine.model.kernels`; S slots, I the experts' inner dimension.
"""

import mlx.core as mx

from engine.experts.slots import ExpertMatrix
from engine.model.metal.shader import Kernel, Shader, grid

HIDDEN = Shader(
    "moe_hidden",
    inputs=(
        *("x", "rows", "slot_ids"),
        *("gate_w", "gate_scales", "gate_biases"),
        *("up_w", "up_scales", "up_biases"),
    ),
    outputs=("hidden",),
    headers=("affine",),
)
OUTPUT = Shader(
    "moe_output",
    inputs=(
        *("hidden", "places", "slot_ids", "down_w", "down_scales", "down_biases"),
        *("scores", "shared", "shared_gate", "residual"),
    ),
    outputs=("out",),
    headers=("affine",),
)

SIMDGROUPS = 2  # of a threadgroup
HIDDEN_ROWS = 2  # of gate and of up a simdgroup; the activations are loaded once for them
OUTPUT_ROWS = 4


def supports(gate: ExpertMatrix, up: ExpertMatrix, down: ExpertMatrix) -> bool:
    """Whether the kernels know this quantization."""
    alike = (gate.bits, gate.group_size) == (up.bits, up.group_size)
    return alike and all(
        m.scales is not None and m.bits in (4, 8) and m.group_size in (32, 64, 128)
        for m in (gate, up, down)
    )


def hidden(
    kernel: Kernel,
    x: mx.array,  # (T, D)
    gate: ExpertMatrix,
    up: ExpertMatrix,
    slot_ids: mx.array,  # (N,) uint32
    rows: mx.array,  # (N,) uint32: which row of x
) -> mx.array:
    """silu(gate x) * up x of each pair: (N, I)."""
    pairs, inner = slot_ids.shape[0], gate.weight.shape[-2]
    (result,) = kernel(
        inputs=[x, rows, slot_ids, *_tensors(gate), *_tensors(up)],
        output_shapes=[(pairs, inner)],
        output_dtypes=[x.dtype],
        template=[("T", x.dtype), ("D", x.shape[-1]), ("I", inner), *_widths(gate, HIDDEN_ROWS)],
        **grid(_columns(inner, HIDDEN_ROWS), pairs, SIMDGROUPS),
    )
    return result


def output(
    kernel: Kernel,
    hidden: mx.array,  # (N, I)
    places: mx.array,  # (T·k,) uint32: rows of hidden in the router's order
    down: ExpertMatrix,
    slot_ids: mx.array,  # (T·k,) uint32
    scores: mx.array,  # (T, k) float32
    shared: mx.array,  # (T, D), before its gate
    shared_gate: mx.array,  # (T, 1), before the sigmoid
    residual: mx.array,  # (T, D)
) -> mx.array:
    """residual + sum of scores · down hidden + sigmoid(shared_gate) · shared: (T, D)."""
    tokens, outputs = residual.shape
    inner, k = hidden.shape[-1], scores.shape[-1]
    (result,) = kernel(
        inputs=[hidden, places, slot_ids, *_tensors(down), scores, shared, shared_gate, residual],
        output_shapes=[(tokens, outputs)],
        output_dtypes=[residual.dtype],
        template=[
            *(("T", residual.dtype), ("I", inner), ("D", outputs), ("K", k)),
            *_widths(down, OUTPUT_ROWS),
        ],
        **grid(_columns(outputs, OUTPUT_ROWS), tokens, SIMDGROUPS),
    )
    return result


def _tensors(matrix: ExpertMatrix) -> list[mx.array | None]:
    return [matrix.weight, matrix.scales, matrix.biases]


def _widths(matrix: ExpertMatrix, rows: int) -> list[tuple[str, int]]:
    return [("BITS", matrix.bits), ("GROUP", matrix.group_size), ("ROWS", rows)]


def _columns(rows: int, rows_each: int) -> int:
    return -(-rows // (rows_each * SIMDGROUPS))
