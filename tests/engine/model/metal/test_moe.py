"""The experts' two launches against float64, on the processor."""

import mlx.core as mx
import numpy as np
import pytest

from engine.experts.slots import ExpertMatrix
from engine.model.metal import moe
from engine.model.metal.shader import Build, Kernel
from tests.engine.model.metal.numbers import Floats, dense, double, matrix, normal, sigmoid, stray

# scale * q and bias cancel to a weight a few times smaller than either, over sums of up to 2048
# products in lanes of 64; then a silu and a product of two such sums.
TOLERANCE = 128

WIDTHS = [(bits, group) for bits in (4, 8) for group in (32, 64, 128)]
DTYPES = [
    (4, mx.float32, mx.float32),  # and against the twin
    (4, mx.float32, mx.float16),
    (8, mx.float16, mx.float16),
    (4, mx.bfloat16, mx.bfloat16),
    (8, mx.bfloat16, mx.bfloat16),
]

Shape = tuple[int, int, int, int]
# Experts, slots, D, I. The ragged ones leave lanes, rows and simdgroups idle.
HIDDEN = [(*width, (8, 9, 1024, 32)) for width in WIDTHS] + [
    (4, 32, (1, 1, 128, 7)),
    (8, 128, (3, 2, 640, 33)),
    (4, 64, (10, 4, 2048, 5)),
]
# Experts, slots, I, D.
OUTPUT = [(*width, (8, 9, 512, 64)) for width in WIDTHS] + [
    (8, 32, (3, 2, 160, 9)),
    (4, 128, (10, 1, 640, 1)),
]


@pytest.fixture(scope="module")
def hidden_kernel(build: Build) -> Kernel:
    return moe.HIDDEN.build(build)


@pytest.fixture(scope="module")
def output_kernel(build: Build) -> Kernel:
    return moe.OUTPUT.build(build)


def hidden_double(x: mx.array, gate: ExpertMatrix, up: ExpertMatrix, slot_ids: mx.array) -> Floats:
    slots = np.array(slot_ids)
    g = dense(gate)[slots] @ double(x)[0]
    return g * sigmoid(g) * (dense(up)[slots] @ double(x)[0])


@pytest.mark.parametrize(("bits", "group", "shape"), HIDDEN)
def test_hidden_over_widths_and_shapes(
    hidden_kernel: Kernel, bits: int, group: int, shape: Shape
) -> None:
    check_hidden(hidden_kernel, bits, group, shape, mx.float32, mx.bfloat16)


@pytest.mark.parametrize(("bits", "dtype", "scales"), DTYPES)
def test_hidden_over_dtypes(
    hidden_kernel: Kernel, bits: int, dtype: mx.Dtype, scales: mx.Dtype
) -> None:
    check_hidden(hidden_kernel, bits, 64, (4, 5, 256, 20), dtype, scales)


def check_hidden(
    kernel: Kernel,
    bits: int,
    group: int,
    shape: Shape,
    dtype: mx.Dtype,
    scales: mx.Dtype,
) -> None:
    experts, slots, inputs, inner = shape
    rng = np.random.default_rng(bits * group)
    x = normal(rng, (1, inputs), dtype)
    gate, up = (matrix(rng, (slots, inner, inputs), bits, group, scales) for _ in range(2))
    slot_ids = mx.array(rng.integers(0, slots, experts).astype(np.uint32))
    got = moe.hidden(kernel, x, gate, up, slot_ids)
    assert got.dtype == dtype
    assert stray(got, hidden_double(x, gate, up, slot_ids)) < TOLERANCE
    if scales == mx.float32 == dtype:
        assert stray(moe.hidden_twin(x, gate, up, slot_ids), double(got)) < TOLERANCE


@pytest.mark.parametrize(("bits", "group", "shape"), OUTPUT)
def test_output_over_widths_and_shapes(
    output_kernel: Kernel, bits: int, group: int, shape: Shape
) -> None:
    check_output(output_kernel, bits, group, shape, mx.float32, mx.bfloat16)


@pytest.mark.parametrize(("bits", "dtype", "scales"), DTYPES)
def test_output_over_dtypes(
    output_kernel: Kernel, bits: int, dtype: mx.Dtype, scales: mx.Dtype
) -> None:
    check_output(output_kernel, bits, 64, (4, 4, 256, 20), dtype, scales)


def check_output(
    kernel: Kernel,
    bits: int,
    group: int,
    shape: Shape,
    dtype: mx.Dtype,
    scales: mx.Dtype,
) -> None:
    k, slots, inner, outputs = shape
    rng = np.random.default_rng(bits * group)
    down = matrix(rng, (slots, outputs, inner), bits, group, scales)
    hidden, shared, residual, gate = (
        normal(rng, s, dtype) for s in [(k, inner), (1, outputs), (1, outputs), (1, 1)]
    )
    scores = normal(rng, (1, k), mx.float32)
    places = mx.array(rng.permutation(k).astype(np.uint32))
    slot_ids = mx.array(rng.integers(0, slots, k).astype(np.uint32))
    arguments = (hidden, places, down, slot_ids, scores, shared, gate, residual)
    got = moe.output(kernel, *arguments)
    rows = double(hidden)[np.array(places)]
    products = np.einsum("kod,kd->ko", dense(down)[np.array(slot_ids)], rows)
    wanted = double(residual) + double(scores) @ products + double(shared) * sigmoid(double(gate))
    assert got.dtype == dtype
    assert stray(got, wanted) < TOLERANCE
    if scales == mx.float32 == dtype:
        assert stray(moe.output_twin(*arguments), double(got)) < TOLERANCE


def test_the_rows_of_hidden_may_come_in_any_order(output_kernel: Kernel) -> None:
    """The router's order alone decides in which order the experts are summed: to the bit."""
    rng = np.random.default_rng(3)
    down = matrix(rng, (4, 32, 64), 4, 32, mx.bfloat16)
    hidden, row = normal(rng, (4, 64), mx.float32), normal(rng, (1, 32), mx.float32)
    gate, scores = mx.zeros((1, 1)), normal(rng, (1, 4), mx.float32)
    slot_ids = mx.array([2, 0, 3, 1], mx.uint32)
    order = np.array([3, 1, 0, 2])
    one, other = (
        moe.output(
            output_kernel,
            *(hidden[mx.array(rows)], mx.array(np.argsort(rows).astype(np.uint32))),
            *(down, slot_ids, scores, row, gate, row),
        )
        for rows in (np.arange(4), order)
    )
    assert mx.array_equal(one, other)


def test_a_nan_or_an_infinity_stays_in_its_row(hidden_kernel: Kernel) -> None:
    rng = np.random.default_rng(4)
    gate, up = (matrix(rng, (2, 6, 64), 4, 32, mx.float32) for _ in range(2))
    x, both = normal(rng, (1, 64), mx.float32), mx.array([0, 1], mx.uint32)
    clean = moe.hidden(hidden_kernel, x, gate, up, both)
    assert gate.scales is not None
    assert up.biases is not None
    spoilt, beyond = np.array(gate.scales), np.array(up.biases)
    spoilt[0, 2, 1] = np.nan
    beyond[1, 5, 0] = np.finfo(np.float32).max
    gate = ExpertMatrix(gate.weight, mx.array(spoilt), gate.biases, 4, 32)
    up = ExpertMatrix(up.weight, up.scales, mx.array(beyond), 4, 32)
    got = np.array(moe.hidden(hidden_kernel, x, gate, up, both))
    touched = got != np.array(clean)
    assert np.argwhere(touched).tolist() == [[0, 2], [1, 5]]
    assert np.isnan(got[0, 2])


def test_zeros_give_exactly_the_residual(hidden_kernel: Kernel, output_kernel: Kernel) -> None:
    rng = np.random.default_rng(5)
    gate, up = (matrix(rng, (1, 64, 64), 8, 32, mx.bfloat16) for _ in range(2))
    first = mx.zeros((1,), mx.uint32)
    hidden = moe.hidden(hidden_kernel, mx.zeros((1, 64)), gate, up, first)
    assert not hidden.any()
    zero, residual = mx.zeros((1, 64)), normal(rng, (1, 64), mx.float32)
    one = mx.ones((1, 1))
    out = moe.output(output_kernel, hidden, first, gate, first, one, zero, one, residual)
    assert mx.array_equal(out, residual)


def test_other_widths_are_left_to_mlx() -> None:
    rng = np.random.default_rng(6)
    four, six, eight = (matrix(rng, (1, 8, 128), b, 64, mx.float32) for b in (4, 6, 8))
    assert moe.supports(four, four)
    assert moe.supports(eight)
    assert not moe.supports(six)
    assert not moe.supports(four, eight)
    assert not moe.supports(ExpertMatrix(mx.zeros((1, 8, 128)), None, None, 0, 0))
