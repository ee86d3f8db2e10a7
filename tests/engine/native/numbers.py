"""Random weights in every form, and what they mean in float64."""

from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np

from engine.model.weights import Linear

Floats = np.ndarray[Any, np.dtype[np.float32]]
Doubles = np.ndarray[Any, np.dtype[np.float64]]

DTYPES = {"float32": mx.float32, "float16": mx.float16, "bfloat16": mx.bfloat16}


@dataclass(frozen=True, slots=True)
class Weights:
    """A matrix, or a stack of them, and its exact values."""

    linear: Linear
    exact: Doubles


def quantized(shape: tuple[int, ...], bits: int, group: int, dtype: str, seed: int = 0) -> Weights:
    """Quantized by MLX itself; the values by reading the codes bit by bit."""
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    packed = mx.quantize(mx.array(values).astype(DTYPES[dtype]), group_size=group, bits=bits)
    mx.eval(packed)
    weight, scales, biases = packed
    stream = np.unpackbits(np.array(weight.view(mx.uint8)), axis=-1, bitorder="little")
    codes = stream.reshape(*shape, bits) @ (1 << np.arange(bits))
    exact = codes * repeated(scales, group) + repeated(biases, group)
    return Weights(Linear(weight, scales, biases, bits, group), exact)


def plain(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Weights:
    """Not quantized."""
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    weight = mx.array(values).astype(DTYPES[dtype])
    return Weights(Linear(weight, None, None, 0, 0), doubles(weight))


def doubles(array: mx.array) -> Doubles:
    """Exactly."""
    return np.array(array.astype(mx.float32)).astype(np.float64)


def repeated(array: mx.array, count: int) -> Doubles:
    """Every number `count` times along the last axis."""
    return np.repeat(doubles(array), count, axis=-1)


def rows(count: int, width: int, seed: int = 1) -> Floats:
    """Activations."""
    return np.random.default_rng(seed).standard_normal((count, width)).astype(np.float32)


def relative_error(y: Any, exact: Doubles, scale: Doubles | None = None) -> float:
    """The largest error over the largest value."""
    return float(np.abs(np.asarray(y) - exact).max() / np.abs(exact).max())
