"""The DeltaNet step against float64 and against the formula in MLX, on the processor."""

from dataclasses import replace

import mlx.core as mx
import numpy as np
import pytest

from engine.model.kernels import DeltaNetWeights
from engine.model.metal import delta_net
from engine.model.metal.shader import Build, Kernel
from engine.model.plain import PlainKernels
from tests.engine.model.metal.numbers import Floats, double, normal, sigmoid, stray

# Sums of at most 128 products; gamma = exp(-exp(a_log) softplus(.)) carries a few units more, and
# the norm at the end divides by what may be small.
TOLERANCE = 64

Inputs = tuple[mx.array, mx.array, mx.array, mx.array, mx.array, mx.array, DeltaNetWeights]

# Hk, Hv, dk, dv: the models' own heads, then ragged ones.
SHAPES = [(1, 2, 128, 128), (2, 4, 32, 32), (1, 3, 48, 20), (3, 3, 16, 8)]


@pytest.fixture(scope="module")
def kernel(build: Build) -> Kernel:
    return delta_net.STEP.build(build)


def inputs(shape: tuple[int, int, int, int], dtype: mx.Dtype, seed: int = 0) -> Inputs:
    key_heads, value_heads, key_dim, value_dim = shape
    rng = np.random.default_rng(seed)
    channels = 2 * key_heads * key_dim + value_heads * value_dim
    w = DeltaNetWeights(
        conv=normal(rng, (channels, 4, 1), dtype),
        a_log=normal(rng, (value_heads,), mx.float32),
        dt_bias=normal(rng, (value_heads,), dtype),
        norm=normal(rng, (value_dim,), dtype),
        key_heads=key_heads,
        value_heads=value_heads,
        key_dim=key_dim,
        value_dim=value_dim,
        eps=1e-6,
    )
    return (
        normal(rng, (1, channels), dtype),
        normal(rng, (1, value_heads * value_dim), dtype),
        normal(rng, (1, value_heads), dtype),
        normal(rng, (1, value_heads), dtype),
        normal(rng, (3, channels), dtype),
        normal(rng, (value_heads, value_dim, key_dim), mx.float32),
        w,
    )


def step_double(
    mixed: mx.array,
    z: mx.array,
    a: mx.array,
    b: mx.array,
    conv_state: mx.array,
    delta_state: mx.array,
    w: DeltaNetWeights,
) -> tuple[Floats, Floats]:
    """y (1, Hv·dv) and the new state, by the formula at the top of the shader."""
    window = np.concatenate([double(conv_state), double(mixed)])  # (4, C)
    summed = (window * double(w.conv)[:, :, 0].T).sum(axis=0)
    convolved = summed * sigmoid(summed)
    keys = w.key_heads * w.key_dim
    q, k, v = np.split(convolved, [keys, 2 * keys])
    q, k = q.reshape(w.key_heads, -1), k.reshape(w.key_heads, -1)
    q = q / np.sqrt((q * q).sum(-1, keepdims=True) + 1e-6) / np.sqrt(w.key_dim)
    k = k / np.sqrt((k * k).sum(-1, keepdims=True) + 1e-6)
    repeat = w.value_heads // w.key_heads
    q, k = q.repeat(repeat, axis=0), k.repeat(repeat, axis=0)
    v = v.reshape(w.value_heads, -1)
    gamma = np.exp(-np.exp(double(w.a_log)) * np.logaddexp(double(a) + double(w.dt_bias), 0))
    state = double(delta_state) * gamma.reshape(-1, 1, 1)
    recalled = np.einsum("hvk,hk->hv", state, k)
    delta = (v - recalled) * sigmoid(double(b)).reshape(-1, 1)
    state = state + delta[:, :, None] * k[:, None, :]
    y = np.einsum("hvk,hk->hv", state, q)
    normed = y / np.sqrt((y * y).mean(-1, keepdims=True) + w.eps) * double(w.norm)
    return normed.reshape(1, -1) * double(z) * sigmoid(double(z)), state


@pytest.mark.parametrize("shape", SHAPES)
def test_a_step_over_shapes(kernel: Kernel, shape: tuple[int, int, int, int]) -> None:
    check(kernel, inputs(shape, mx.float32))


@pytest.mark.parametrize("dtype", [mx.bfloat16, mx.float16])
def test_a_step_over_dtypes(kernel: Kernel, dtype: mx.Dtype) -> None:
    check(kernel, inputs((2, 4, 32, 32), dtype))


def check(kernel: Kernel, given: Inputs) -> None:
    mixed, _, _, _, conv_state, _, _ = given
    y, conv, state = delta_net.step(kernel, *given)
    wanted, wanted_state = step_double(*given)
    assert stray(y, wanted) < TOLERANCE
    assert stray(state, wanted_state) < TOLERANCE
    assert mx.array_equal(conv, mx.concatenate([conv_state[1:], mixed]))
    assert (y.dtype, conv.dtype, state.dtype) == (mixed.dtype, mixed.dtype, mx.float32)


def test_it_follows_the_plain_formula_over_many_steps(kernel: Kernel) -> None:
    """The state is carried on: errors that grew would show."""
    shape = (2, 4, 32, 32)
    *_, conv, state, w = inputs(shape, mx.float32)
    w = replace(w, conv=w.conv * 0.5)
    fast = plain = (mx.zeros((1, 1)), conv, state)
    for seed in range(1, 33):
        mixed, z, a, b, *_ = inputs(shape, mx.float32, seed)
        fast = delta_net.step(kernel, mixed, z, a, b, fast[1], fast[2], w)
        plain = PlainKernels(mx.float32).delta_net(mixed, z, a, b, plain[1], plain[2], w)
    for got, wanted in zip(fast, plain, strict=True):
        assert stray(got, double(wanted)) < TOLERANCE


@pytest.mark.parametrize("value", [0.0, 1e4, -1e4])
def test_gates_at_their_ends_are_exact(kernel: Kernel, value: float) -> None:
    """softplus and sigmoid of what float32's exp cannot hold are still their limits."""
    mixed, z, _, _, conv, state, w = inputs((1, 2, 32, 32), mx.float32)
    extreme = mx.full((1, 2), value)
    check(kernel, (mixed, z, extreme, extreme, conv, state, w))


def test_a_nan_stays_in_its_head(kernel: Kernel) -> None:
    given = inputs((2, 4, 32, 32), mx.float32)
    spoilt = np.array(given[5])
    spoilt[2, 7, 3] = np.nan
    clean_y, _, clean_state = delta_net.step(kernel, *given)
    y, _, state = delta_net.step(kernel, *given[:5], mx.array(spoilt), given[6])
    heads = mx.isnan(y.reshape(4, 32)).any(axis=1)
    assert heads.tolist() == [False, False, True, False]
    assert mx.array_equal(y.reshape(4, 32)[:2], clean_y.reshape(4, 32)[:2])
    rows = np.argwhere(np.array(mx.isnan(state)).any(axis=2))
    assert rows.tolist() == [[2, 7]]
    assert mx.array_equal(state[3], clean_state[3])


def test_silence_gives_silence(kernel: Kernel) -> None:
    """All zeros: the norms divide by their epsilon, not by nothing."""
    *given, w = inputs((1, 2, 32, 32), mx.float32)
    y, conv, state = delta_net.step(kernel, *(mx.zeros_like(x) for x in given), w)
    assert not y.any()
    assert not conv.any()
    assert not state.any()
