"""The routed experts of a token in two launches: see `moe_hidden.metal`, `moe_output.metal`.

D hidden, k experts of a token, N of them computed together, S slots, I the inner dimension.
"""

import mlx.core as mx

from engine.experts.slots import ExpertMatrix
from engine.model.metal.shader import Kernel, Shader, grid
from engine.model.plain import gathered_product, silu
from engine.model.weights import Linear

HIDDEN = Shader(
    "moe_hidden",
    inputs=(
        *("x", "slot_ids"),
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

Matrix = ExpertMatrix | Linear  # a dense matrix lies in memory as an expert's in slot 0

# Measured on an H200 (tests/bench/shaders_on_gpu.py). Fewer rows leave more to be scheduled, more
# rows share an activation's unpacking, which weighs more where weights are half the bytes.
HIDDEN_ROWS = {4: 2, 8: 1}  # of gate and of up a simdgroup, by bits
HIDDEN_SIMDGROUPS = 2
OUTPUT_ROWS = 8
MOST_EXPERTS = 32  # of a token: a simdgroup each, 1024 lanes


def supports(*matrices: Matrix) -> bool:
    """Whether the kernels know these matrices' quantization, one for all."""
    first = matrices[0]
    return (
        first.bits in (4, 8)
        and first.group_size in (32, 64, 128)
        and all((m.bits, m.group_size) == (first.bits, first.group_size) for m in matrices)
    )


def hidden(
    kernel: Kernel,
    x: mx.array,  # (1, D)
    gate: Matrix,
    up: Matrix,
    slot_ids: mx.array,  # (N,) uint32
) -> mx.array:
    """silu(gate x) * up x of each expert: (N, I)."""
    experts, inner, rows = slot_ids.shape[0], gate.weight.shape[-2], HIDDEN_ROWS[gate.bits]
    (result,) = kernel(
        inputs=[x, slot_ids, *_tensors(gate), *_tensors(up)],
        output_shapes=[(experts, inner)],
        output_dtypes=[x.dtype],
        template=[("T", x.dtype), ("D", x.shape[-1]), ("I", inner), *_widths(gate, rows)],
        **grid(-(-inner // (rows * HIDDEN_SIMDGROUPS)), experts, HIDDEN_SIMDGROUPS),
    )
    return result


def hidden_twin(x: mx.array, gate: ExpertMatrix, up: ExpertMatrix, slot_ids: mx.array) -> mx.array:
    """The same in MLX."""
    rows = mx.broadcast_to(x, (slot_ids.shape[0], 1, x.shape[-1]))
    h = silu(gathered_product(rows, gate, slot_ids, False))
    return (h * gathered_product(rows, up, slot_ids, False)).squeeze(1)


def output(
    kernel: Kernel,
    hidden: mx.array,  # (k, I)
    places: mx.array,  # (k,) uint32: rows of hidden in the router's order
    down: ExpertMatrix,
    slot_ids: mx.array,  # (k,) uint32
    scores: mx.array,  # (1, k) float32
    shared: mx.array,  # (1, D), before its gate
    shared_gate: mx.array,  # (1, 1), before the sigmoid
    residual: mx.array,  # (1, D)
) -> mx.array:
    """residual + the sum of scores · down hidden + sigmoid(shared_gate) · shared: (1, D)."""
    inner, outputs, k = hidden.shape[-1], residual.shape[-1], scores.shape[-1]
    (result,) = kernel(
        inputs=[hidden, places, slot_ids, *_tensors(down), scores, shared, shared_gate, residual],
        output_shapes=[residual.shape],
        output_dtypes=[residual.dtype],
        template=[
            *(("T", residual.dtype), ("I", inner), ("D", outputs), ("K", k)),
            *_widths(down, OUTPUT_ROWS),
        ],
        **grid(-(-outputs // OUTPUT_ROWS), 1, k),
    )
    return result


def output_twin(
    hidden: mx.array,
    places: mx.array,
    down: ExpertMatrix,
    slot_ids: mx.array,
    scores: mx.array,
    shared: mx.array,
    shared_gate: mx.array,
    residual: mx.array,
) -> mx.array:
    """The same in MLX."""
    products = gathered_product(hidden[places][:, None], down, slot_ids, False).squeeze(1)
    routed = (products * scores.reshape(-1, 1)).sum(axis=0, keepdims=True)
    return residual + (routed.astype(residual.dtype) + mx.sigmoid(shared_gate) * shared)


def _tensors(matrix: Matrix) -> list[mx.array | None]:
    return [matrix.weight, matrix.scales, matrix.biases]


def _widths(matrix: Matrix, rows: int) -> list[tuple[str, int]]:
    return [("BITS", matrix.bits), ("GROUP", matrix.group_size), ("ROWS", rows)]
