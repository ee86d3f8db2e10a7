"""Random inputs, float64 and back, and the quantized matrices of the shader tests."""

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from engine.experts.slots import ExpertMatrix

Floats = NDArray[np.float64]

# One rounding to the dtype: half a unit in the last place, relative.
ROUNDING = {mx.float32: 2.0**-24, mx.float16: 2.0**-11, mx.bfloat16: 2.0**-8}


def double(a: mx.array) -> Floats:
    """Any floating array as float64."""
    return np.array(a.astype(mx.float32)).astype(np.float64)


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + exp(-x)), without its overflow."""
    return 0.5 * (1 + np.tanh(0.5 * x))


def normal(rng: np.random.Generator, shape: tuple[int, ...], dtype: mx.Dtype) -> mx.array:
    """Standard normal numbers."""
    return mx.array(rng.standard_normal(shape).astype(np.float32)).astype(dtype)


def matrix(
    rng: np.random.Generator,
    shape: tuple[int, int, int],
    bits: int,
    group_size: int,
    dtype: mx.Dtype,
) -> ExpertMatrix:
    """(S, O, I) quantized, entries of about 1 / sqrt(I)."""
    dense = normal(rng, shape, mx.float32) * shape[-1] ** -0.5
    weight, scales, biases = mx.quantize(dense, group_size, bits)
    return ExpertMatrix(weight, scales.astype(dtype), biases.astype(dtype), bits, group_size)


def dense(m: ExpertMatrix) -> Floats:
    """(S, O, I): what the packed weights stand for."""
    assert m.scales is not None
    assert m.biases is not None
    words = np.array(m.weight)
    shifts = np.arange(0, 32, m.bits, dtype=np.uint32)
    q = (words[..., None] >> shifts) & np.uint32(2**m.bits - 1)
    q = q.reshape(*words.shape[:-1], -1).astype(np.float64)
    scales = double(m.scales).repeat(m.group_size, axis=-1)
    return q * scales + double(m.biases).repeat(m.group_size, axis=-1)


def stray(got: mx.array, wanted: Floats) -> float:
    """How far `got` is off beside its last rounding, in units of 2^-24 of the values' size.

    The size is the root mean square. A float32 sum of n products of that size strays by about
    sqrt(n) such units at worst, fewer where lanes sum apart: tolerances are in these units.
    """
    size = float(np.sqrt(np.mean(wanted**2)))
    off = np.abs(double(got) - wanted) - ROUNDING[got.dtype] * np.abs(wanted)
    return float(off.max()) / size * 2.0**24
