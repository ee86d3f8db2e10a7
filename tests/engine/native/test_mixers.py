"""DeltaNet and attention in C, against the formulas in MLX and against other splits of the same."""

import mlx.core as mx
import numpy as np
import pytest

from engine.model.kernels import AttentionWeights, DeltaNetWeights
from engine.model.plain import PlainKernels
from engine.native.core import NativeCore
from engine.native.kernels import NativeKernels

PLAIN = PlainKernels(mx.float32)
SETS = ("avx512", "avx2", "plain")

DELTA_SHAPES = [  # key heads, value heads, key dim, value dim, tokens
    (1, 1, 16, 1, 1),
    (2, 4, 32, 32, 7),
    (3, 6, 20, 28, 5),
    (2, 2, 1, 3, 4),
    (16, 32, 128, 128, 3),
]
ATTENTION_SHAPES = [  # heads, kv heads, head dim, rotary dim, tokens, past
    (1, 1, 16, 16, 1, 0),
    (4, 2, 32, 8, 9, 5),
    (6, 2, 64, 16, 3, 253),
    (3, 1, 20, 6, 6, 2),
    (16, 2, 256, 64, 5, 300),
]


def normal(*shape: int, scale: float = 1.0) -> mx.array:
    values = mx.random.normal(shape) * scale
    mx.eval(values)
    return values


def delta_case(shape: tuple[int, int, int, int, int]) -> tuple[list[mx.array], DeltaNetWeights]:
    """Inputs of `Kernels.delta_net`, seeded by the shape."""
    key_heads, value_heads, dk, dv, tokens = shape
    mx.random.seed(sum(shape))
    channels = 2 * key_heads * dk + value_heads * dv
    weights = DeltaNetWeights(
        conv=normal(channels, 4, 1),
        a_log=normal(value_heads),
        dt_bias=normal(value_heads),
        norm=1 + normal(dv, scale=0.1),
        key_heads=key_heads,
        value_heads=value_heads,
        key_dim=dk,
        value_dim=dv,
        eps=1e-6,
    )
    mx.eval(weights.norm)
    inputs = [
        normal(tokens, channels),
        normal(tokens, value_heads * dv),
        normal(tokens, value_heads),
        normal(tokens, value_heads),
        normal(3, channels),
        normal(value_heads, dv, dk, scale=0.1),
    ]
    return inputs, weights


def attention_case(
    shape: tuple[int, int, int, int, int, int],
) -> tuple[list[mx.array], mx.array, mx.array, AttentionWeights]:
    """Inputs of `Kernels.attention`, with keys and values for `past` tokens."""
    heads, kv_heads, d, rotary, tokens, past = shape
    mx.random.seed(sum(shape))
    norms = 1 + normal(d, scale=0.1), 1 + normal(d, scale=0.1)
    mx.eval(norms)
    weights = AttentionWeights(*norms, heads, kv_heads, d, rotary, 1e4, 1e-6)
    room = -(-(past + tokens) // 256) * 256
    cache = normal(kv_heads, room, d), normal(kv_heads, room, d)
    inputs = [
        normal(tokens, heads * 2 * d),
        normal(tokens, kv_heads * d),
        normal(tokens, kv_heads * d),
    ]
    return inputs, *cache, weights


def copied(array: mx.array) -> mx.array:
    return mx.array(np.array(array))


def close(ours: mx.array, theirs: mx.array) -> bool:
    return bool(np.allclose(np.array(ours), np.array(theirs), rtol=1e-4, atol=2e-5))


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("shape", DELTA_SHAPES)
def test_delta_net_is_the_formula(
    shape: tuple[int, int, int, int, int], name: str, core: NativeCore
) -> None:
    if not core.use_instruction_set(name):
        pytest.skip(f"this processor does not run {name}")
    inputs, weights = delta_case(shape)
    ours = NativeKernels(core).delta_net(*inputs, weights)
    assert all(map(close, ours, PLAIN.delta_net(*inputs, weights)))


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("shape", ATTENTION_SHAPES)
def test_attention_is_the_formula(
    shape: tuple[int, int, int, int, int, int], name: str, core: NativeCore
) -> None:
    if not core.use_instruction_set(name):
        pytest.skip(f"this processor does not run {name}")
    inputs, keys, values, weights = attention_case(shape)
    theirs = copied(keys), copied(values)
    past, end = shape[5], shape[4] + shape[5]
    ours = NativeKernels(core).attention(*inputs, keys, values, past, weights)
    assert close(ours, PLAIN.attention(*inputs, *theirs, past, weights))
    assert close(keys[:, :end], theirs[0][:, :end])
    assert close(values[:, :end], theirs[1][:, :end])
    assert mx.array_equal(keys[:, :past], theirs[0][:, :past])


def test_the_threads_do_not_change_a_bit(core: NativeCore) -> None:
    kernels = NativeKernels(core)
    delta, attention = delta_case(DELTA_SHAPES[-1]), attention_case(ATTENTION_SHAPES[-1])
    results = []
    for threads in (1, 2, 5):
        core.threads = threads
        inputs, keys, values, weights = attention
        attended = kernels.attention(*inputs, copied(keys), copied(values), 300, weights)
        results.append([*kernels.delta_net(*delta[0], delta[1]), attended])
    for others in results[1:]:
        assert all(map(mx.array_equal, results[0], others))


def test_a_chunk_is_the_same_as_its_tokens(core: NativeCore) -> None:
    kernels = NativeKernels(core)
    inputs, weights = delta_case(DELTA_SHAPES[1])
    *rows, conv, delta = inputs
    whole = kernels.delta_net(*inputs, weights)
    outputs = []
    for token in range(len(rows[0])):
        one = [copied(row[token : token + 1]) for row in rows]
        y, conv, delta = kernels.delta_net(*one, conv, delta, weights)
        outputs.append(y)
    assert mx.array_equal(mx.concatenate(outputs), whole[0])
    assert mx.array_equal(conv, whole[1])
    assert mx.array_equal(delta, whole[2])

    heads_in, keys, values, attention = attention_case(ATTENTION_SHAPES[1])
    theirs = copied(keys), copied(values)
    attended = kernels.attention(*heads_in, keys, values, 5, attention)
    for token in range(9):
        one = [copied(row[token : token + 1]) for row in heads_in]
        alone = kernels.attention(*one, *theirs, 5 + token, attention)
        assert mx.array_equal(alone[0], attended[token])
