"""NativeKernels against their twin, the plain formulas."""

import mlx.core as mx
import numpy as np
import pytest

from engine.experts.slots import ExpertMatrix, LayerSlots
from engine.model.kernels import SharedExpert
from engine.model.plain import PlainKernels
from engine.native.core import NativeCore
from engine.native.kernels import NativeKernels
from tests.engine.native.numbers import Weights, plain, quantized, relative_error, rows

DIM, HIDDEN, SLOTS = 128, 96, 12
PLAIN = PlainKernels(mx.float32)


@pytest.fixture
def native(core: NativeCore) -> NativeKernels:
    return NativeKernels(core)


def stack(out: int, width: int, bits: int, dtype: str, seed: int) -> Weights:
    shape = SLOTS, out, width
    return quantized(shape, bits, 32, dtype, seed) if bits else plain(shape, dtype, seed)


def slots_of(gate: Weights, up: Weights, down: Weights) -> LayerSlots:
    def matrix(weights: Weights) -> ExpertMatrix:
        w = weights.linear
        return ExpertMatrix(w.weight, w.scales, w.biases, w.bits, w.group_size)

    return LayerSlots(matrix(gate), matrix(up), matrix(down), ((),) * SLOTS)


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


@pytest.mark.parametrize("bits", [0, 3, 4, 8])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("pairs", [1, 10, 57])
def test_expert_pairs(native: NativeKernels, bits: int, dtype: str, pairs: int) -> None:
    gate, up = stack(HIDDEN, DIM, bits, dtype, 1), stack(HIDDEN, DIM, bits, dtype, 2)
    down = stack(DIM, HIDDEN, bits, dtype, 3)
    random = np.random.default_rng(pairs)
    slot_ids = random.integers(0, SLOTS, pairs).astype(np.uint32)
    which = random.integers(0, 6, pairs).astype(np.uint32)
    x = rows(6, DIM)
    inputs = x[which].astype(np.float64)[:, None, :]
    h = silu(inputs @ gate.exact[slot_ids].mT) * (inputs @ up.exact[slot_ids].mT)
    exact = (h @ down.exact[slot_ids].mT)[:, 0]

    slots = slots_of(gate, up, down)
    y = native.expert_mlp(mx.array(x), slots, mx.array(slot_ids), mx.array(which), False)
    assert relative_error(y, exact) < 1e-5

    native.core.threads = 1
    again = native.expert_mlp(mx.array(x), slots, mx.array(slot_ids), mx.array(which), False)
    assert np.array_equal(y, again)
    order = random.permutation(pairs)
    moved = native.expert_mlp(
        mx.array(x), slots, mx.array(slot_ids[order]), mx.array(which[order]), False
    )
    assert np.array_equal(np.array(moved), np.array(y)[order])


def test_a_pair_does_not_depend_on_other_slots(native: NativeKernels) -> None:
    """So the output is the same however the experts of a layer are grouped into calls."""
    slots = slots_of(
        stack(HIDDEN, DIM, 4, "bfloat16", 1),
        stack(HIDDEN, DIM, 4, "bfloat16", 2),
        stack(DIM, HIDDEN, 4, "bfloat16", 3),
    )
    slot_ids = np.repeat(np.arange(SLOTS, dtype=np.uint32), 3)
    which = np.arange(slot_ids.size, dtype=np.uint32) % 7
    x = mx.array(rows(7, DIM))
    y = native.expert_mlp(x, slots, mx.array(slot_ids), mx.array(which), True)
    for slot in range(SLOTS):
        mine = slot_ids == slot
        pairs = mx.array(slot_ids[mine]), mx.array(which[mine])
        assert np.array_equal(native.expert_mlp(x, slots, *pairs, True), np.array(y)[mine])


def test_a_slot_out_of_range_is_refused(native: NativeKernels) -> None:
    square = stack(DIM, DIM, 4, "bfloat16", 0)
    slots = slots_of(square, square, square)
    with pytest.raises(OSError, match="Invalid argument"):
        native.expert_mlp(
            mx.zeros((1, DIM)), slots, mx.array([SLOTS], mx.uint32), mx.array([0], mx.uint32), True
        )


def test_a_replaced_layer_is_forgotten(native: NativeKernels) -> None:
    """What the core was told of a layer's slots must not outlive them."""
    for seed in range(3):
        square = stack(DIM, DIM, 4, "bfloat16", seed)
        x = mx.array(rows(1, DIM, seed))
        pair = mx.array([1], mx.uint32), mx.array([0], mx.uint32)
        slots = slots_of(square, square, square)
        twin = PLAIN.expert_mlp(x, slots, *pair, True)
        assert relative_error(native.expert_mlp(x, slots, *pair, True), np.array(twin)) < 1e-5


@pytest.mark.parametrize("count", [1, 5, 64])
def test_shared_expert(native: NativeKernels, count: int) -> None:
    gate = quantized((HIDDEN, DIM), 4, 32, "bfloat16", 1).linear
    up = quantized((HIDDEN, DIM), 4, 32, "bfloat16", 2).linear
    down = quantized((DIM, HIDDEN), 4, 32, "bfloat16", 3).linear
    expert = SharedExpert(gate, up, down, quantized((1, DIM), 8, 64, "bfloat16", 4).linear)
    x = mx.array(rows(count, DIM))
    twin = np.array(PLAIN.shared_mlp(x, expert))
    assert relative_error(native.shared_mlp(x, expert), twin) < 1e-5


@pytest.mark.parametrize("shape", [(1, 1), (1, 64), (3, 100), (70, 2048)])
def test_rms_norm(native: NativeKernels, shape: tuple[int, int]) -> None:
    x, weight = mx.array(rows(*shape)), mx.array(rows(1, shape[1], 5)[0])
    twin = np.array(PLAIN.rms_norm(x, weight, 1e-6))
    assert relative_error(native.rms_norm(x, weight, 1e-6), twin) < 1e-5


@pytest.mark.parametrize("shape", [(1, 1), (3, 100), (70, 2048)])
def test_the_norm_of_a_sum(native: NativeKernels, shape: tuple[int, int]) -> None:
    x, more = mx.array(rows(*shape)), mx.array(rows(*shape, 3))
    weight = mx.array(rows(1, shape[1], 5)[0])
    total, normed = native.add_rms_norm(x, more, weight, 1e-6)
    assert np.array_equal(total, x + more)
    assert np.array_equal(normed, native.rms_norm(x + more, weight, 1e-6))


@pytest.mark.parametrize("count", [1, 7])
def test_several_products_of_one_input(native: NativeKernels, count: int) -> None:
    weights = tuple(
        quantized((out, DIM), bits, 64, "bfloat16", out).linear
        for out, bits in ((HIDDEN, 4), (3, 8), (40, 2))
    )
    x = mx.array(rows(count, DIM))
    for y, w in zip(native.linears(x, weights), weights, strict=True):
        assert np.array_equal(y, native.linear(x, w))


@pytest.mark.parametrize("experts", [3, 16, 60, 256])
@pytest.mark.parametrize("renormalize", [True, False])
def test_routing(native: NativeKernels, experts: int, renormalize: bool) -> None:
    gate, x = quantized((experts, DIM), 8, 64, "bfloat16"), rows(9, DIM)
    logits = x.astype(np.float64) @ gate.exact.T
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    ids = np.argsort(-chances, axis=1, kind="stable")[:, :3]
    scores = np.take_along_axis(chances, ids, axis=1)
    if renormalize:
        scores /= scores.sum(axis=1, keepdims=True)

    routing = native.route(mx.array(x), gate.linear, 3, renormalize)
    assert np.array_equal(routing.ids, ids)
    assert routing.ids.dtype == mx.uint32
    assert np.allclose(routing.scores, scores, rtol=2e-5)


def test_equal_experts_are_taken_by_id(native: NativeKernels) -> None:
    gate = plain((8, 16), "float32").linear
    routing = native.route(mx.zeros((2, 16)), gate, 4, True)
    assert routing.ids.tolist() == [[0, 1, 2, 3]] * 2
    assert routing.scores.tolist() == [[0.25] * 4] * 2


def test_nonsense_still_names_distinct_experts(native: NativeKernels) -> None:
    gate = plain((8, 16), "float32").linear
    routing = native.route(mx.full((1, 16), float("nan")), gate, 4, True)
    assert sorted(routing.ids.tolist()[0]) == [0, 1, 2, 3]


@pytest.mark.parametrize(("tokens", "k", "width"), [(1, 1, 1), (1, 10, 2048), (33, 4, 77)])
def test_combine(native: NativeKernels, tokens: int, k: int, width: int) -> None:
    pairs, scores = mx.array(rows(tokens * k, width)), mx.array(rows(tokens, k, 2))
    shared, residual = mx.array(rows(tokens, width, 3)), mx.array(rows(tokens, width, 4))
    twin = np.array(PLAIN.combine(pairs, scores, shared, residual))
    assert relative_error(native.combine(pairs, scores, shared, residual), twin) < 1e-5


def test_strided_inputs_are_made_contiguous(native: NativeKernels) -> None:
    weights = plain((5, 16), "float32")
    x = mx.array(rows(16, 3))
    exact = np.array(x).T.astype(np.float64) @ weights.exact.T
    assert relative_error(native.linear(x.T, weights.linear), exact) < 1e-5


def test_results_are_arrays_of_their_own(native: NativeKernels) -> None:
    """Large ones are written where MLX allocated them: two must not share the place."""
    weights = plain((3000, 8), "float32")
    first = native.linear(mx.ones((1000, 8)), weights.linear)
    kept = np.array(first)
    native.linear(mx.zeros((1000, 8)), weights.linear)
    assert np.array_equal(first, kept)
