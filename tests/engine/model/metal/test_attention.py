"""What stands around attention, against float64 and the formula in MLX, on the processor."""

import mlx.core as mx
import numpy as np
import pytest

from engine.model.kernels import AttentionWeights
from engine.model.metal import attention
from engine.model.metal.shader import Build, Kernel
from engine.model.plain import rope
from tests.engine.model.metal.numbers import Floats, double, normal, sigmoid, stray

# A mean over at most 256 squares, a root, three products.
TOLERANCE = 24

# H, K, d, rotary dims: the models' own, then ragged ones.
SHAPES = [(2, 1, 256, 64), (4, 2, 32, 8), (3, 1, 40, 40), (1, 1, 16, 2)]


@pytest.fixture(scope="module")
def heads_kernel(build: Build) -> Kernel:
    return attention.HEADS.build(build)


@pytest.fixture(scope="module")
def gate_kernel(build: Build) -> Kernel:
    return attention.GATE.build(build)


def weights(shape: tuple[int, int, int, int], dtype: mx.Dtype) -> AttentionWeights:
    heads, kv_heads, head_dim, rotary_dim = shape
    rng = np.random.default_rng(1)
    q_norm, k_norm = normal(rng, (head_dim,), dtype), normal(rng, (head_dim,), dtype)
    return AttentionWeights(q_norm, k_norm, heads, kv_heads, head_dim, rotary_dim, 1e7, 1e-6)


def rotated(x: Floats, norm: mx.array, past: int, w: AttentionWeights) -> Floats:
    """(T, heads, d) -> (heads, T, d)."""
    x = x / np.sqrt((x * x).mean(-1, keepdims=True) + w.eps) * double(norm)
    half = w.rotary_dim // 2
    angle = (past + np.arange(x.shape[0]))[:, None] * w.rope_theta ** (-np.arange(half) / half)
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    first, second, rest = np.split(x, [half, 2 * half], axis=-1)
    turned = [first * cos - second * sin, second * cos + first * sin, rest]
    return np.concatenate(turned, axis=-1).swapaxes(0, 1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("tokens", "past"), [(1, 0), (1, 77), (3, 20)])
def test_heads_over_shapes(
    heads_kernel: Kernel, shape: tuple[int, int, int, int], tokens: int, past: int
) -> None:
    check_heads(heads_kernel, shape, tokens, past, mx.float32)


@pytest.mark.parametrize("dtype", [mx.bfloat16, mx.float16])
def test_heads_over_dtypes(heads_kernel: Kernel, dtype: mx.Dtype) -> None:
    check_heads(heads_kernel, (4, 2, 32, 8), 2, 9, dtype)


def check_heads(
    kernel: Kernel, shape: tuple[int, int, int, int], tokens: int, past: int, dtype: mx.Dtype
) -> None:
    w, rng = weights(shape, dtype), np.random.default_rng(2)
    q_gate = normal(rng, (tokens, w.heads * 2 * w.head_dim), dtype)
    k = normal(rng, (tokens, w.kv_heads * w.head_dim), dtype)
    queries, keys = attention.heads(kernel, q_gate, k, past, w)
    tolerance = TOLERANCE + past + tokens  # an angle of p radians is rounded by p units
    q = double(q_gate).reshape(tokens, w.heads, 2, w.head_dim)[:, :, 0]
    assert stray(queries[0], rotated(q, w.q_norm, past, w)) < tolerance
    k_heads = double(k).reshape(tokens, w.kv_heads, w.head_dim)
    assert stray(keys, rotated(k_heads, w.k_norm, past, w)) < tolerance
    assert queries.dtype == keys.dtype == dtype


def test_positions_of_a_long_context_agree_with_mlx(heads_kernel: Kernel) -> None:
    """MLX rounds its frequencies in float32, and so its angles: they agree as far as that goes."""
    w, past = weights((2, 1, 64, 32), mx.float32), 200_000
    k = normal(np.random.default_rng(3), (1, 64), mx.float32)
    _, keys = attention.heads(heads_kernel, mx.zeros((1, 256)), k, past, w)
    wanted = rope(mx.fast.rms_norm(k.reshape(1, 1, 64), w.k_norm, w.eps), past, w)
    assert mx.abs(keys - wanted).max().item() < past * 2.0**-22


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tokens", [1, 3])
def test_gate_over_shapes(
    gate_kernel: Kernel, shape: tuple[int, int, int, int], tokens: int
) -> None:
    check_gate(gate_kernel, shape, tokens, mx.float32)


@pytest.mark.parametrize("dtype", [mx.bfloat16, mx.float16])
def test_gate_over_dtypes(gate_kernel: Kernel, dtype: mx.Dtype) -> None:
    check_gate(gate_kernel, (4, 2, 32, 8), 1, dtype)


def check_gate(
    kernel: Kernel, shape: tuple[int, int, int, int], tokens: int, dtype: mx.Dtype
) -> None:
    w, rng = weights(shape, dtype), np.random.default_rng(4)
    q_gate = normal(rng, (tokens, w.heads * 2 * w.head_dim), dtype)
    y = normal(rng, (1, w.heads, tokens, w.head_dim), dtype)
    gates = double(q_gate).reshape(tokens, w.heads, 2, w.head_dim)[:, :, 1]
    wanted = double(y)[0].swapaxes(0, 1) * sigmoid(gates)
    got = attention.gate(kernel, y, q_gate, w)
    assert got.dtype == dtype
    assert stray(got, wanted.reshape(tokens, -1)) < TOLERANCE


def test_a_nan_stays_in_its_head(heads_kernel: Kernel) -> None:
    w = weights((4, 2, 32, 8), mx.float32)
    q_gate, k = np.ones((1, 256), np.float32), mx.ones((1, 64))
    q_gate[0, 64 + 3] = np.nan  # head 1
    queries, keys = attention.heads(heads_kernel, mx.array(q_gate), k, 5, w)
    assert mx.isnan(queries).any(axis=(0, 2, 3)).tolist() == [False, True, False, False]
    assert not mx.isnan(keys).any()
