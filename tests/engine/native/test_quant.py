"""Products against float64, over every width, group, dtype, shape and number of threads."""

import mlx.core as mx
import numpy as np
import pytest

from engine.native.core import NativeCore
from engine.native.kernels import NativeKernels
from tests.engine.native.numbers import DTYPES, Weights, plain, quantized, relative_error, rows

BITS = (2, 3, 4, 5, 6, 8)
GROUPS = (32, 64, 128)
# Minimal, ragged in the outputs, and of several chunks.
SHAPES = ((1, 128), (7, 384), (130, 640))


def product(core: NativeCore, weights: Weights, x: np.ndarray) -> np.ndarray:
    return np.array(NativeKernels(core).linear(mx.array(x), weights.linear))


def check(core: NativeCore, weights: Weights, count: int) -> None:
    x = rows(count, weights.exact.shape[1])
    exact = x.astype(np.float64) @ weights.exact.T
    core.threads = 1
    alone = product(core, weights, x)
    assert relative_error(alone, exact) < 1e-5
    core.threads = 3
    assert np.array_equal(product(core, weights, x), alone)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("bits", BITS)
def test_quantized_products_are_exact_to_float32(
    core: NativeCore, bits: int, group: int, dtype: str
) -> None:
    for seed, (out, width) in enumerate(SHAPES):
        weights = quantized((out, width), bits, group, dtype, seed)
        for count in (1, 2, 5):
            check(core, weights, count)


@pytest.mark.parametrize("bits", BITS)
def test_the_narrowest_rows_have_one_group(core: NativeCore, bits: int) -> None:
    for width in (32, 96):
        for count in (1, 4):
            check(core, quantized((9, width), bits, 32, "bfloat16"), count)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 7, 8, 23, 64, 129])
def test_plain_products_of_any_width(core: NativeCore, width: int, dtype: str) -> None:
    for out in (1, 6):
        for count in (1, 2, 3, 4):
            check(core, plain((out, width), dtype), count)


@pytest.mark.parametrize("name", ["plain", "avx2", "avx512"])
@pytest.mark.parametrize("bits", BITS)
def test_every_instruction_set_agrees(core: NativeCore, bits: int, name: str) -> None:
    if not core.use_instruction_set(name):
        pytest.skip(f"{name} does not run on this machine")
    for count in (1, 4):
        check(core, quantized((21, 320), bits, 64, "bfloat16"), count)
        check(core, plain((5, 77), "float16"), count)


@pytest.mark.parametrize("bits", BITS)
def test_many_rows_in_many_blocks(core: NativeCore, bits: int) -> None:
    check(core, quantized((70, 1024), bits, 64, "bfloat16"), 110)
    check(core, quantized((3, 256), bits, 64, "bfloat16"), 250)


@pytest.mark.parametrize("dtype", DTYPES)
def test_extreme_scales_stay_exact(core: NativeCore, dtype: str) -> None:
    """Subnormal and large numbers of the 16-bit types."""
    linear = quantized((4, 64), 4, 32, dtype).linear
    tiny, large = {"float16": (6e-8, 6e4)}.get(dtype, (1e-36, 1e30))
    for scale in (tiny, large, 0.0):
        scales = mx.full((4, 2), scale, dtype=DTYPES[dtype])
        biases = -scales
        mx.eval(scales, biases)
        weights = Weights(
            type(linear)(linear.weight, scales, biases, 4, 32),
            (codes_of(linear.weight) - 1.0) * float(np.array(scales.astype(mx.float32))[0, 0]),
        )
        y = product(core, weights, np.ones((1, 64), np.float32))
        expected = weights.exact.sum(axis=1)
        assert np.allclose(y[0], expected, rtol=1e-5, atol=0)


def codes_of(weight: mx.array) -> np.ndarray:
    packed = np.array(weight.view(mx.uint8))
    return np.stack([packed & 15, packed >> 4], axis=-1).reshape(packed.shape[0], -1)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_infinite_weights_give_infinite_products(core: NativeCore, dtype: str) -> None:
    weight = mx.array([[float("inf")] + [0.0] * 8, [1.0] * 9]).astype(DTYPES[dtype])
    weights = Weights(type(plain((1, 1), dtype).linear)(weight, None, None, 0, 0), np.zeros((2, 9)))
    y = product(core, weights, np.ones((1, 9), np.float32))
    assert y.tolist() == [[float("inf"), 9.0]]


@pytest.mark.parametrize(
    "weights",
    [
        quantized((50, 128), 4, 64, "bfloat16"),
        quantized((50, 96), 3, 32, "float16"),
        plain((50, 33), "bfloat16"),
    ],
)
def test_embedding_is_the_rows_themselves(core: NativeCore, weights: Weights) -> None:
    ids = np.array([0, 49, 7, 7], np.uint32)
    y = np.array(NativeKernels(core).embed(weights.linear, mx.array(ids)))
    assert relative_error(y, weights.exact[ids]) < 1e-6
