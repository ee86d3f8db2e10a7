"""The router's choice against float64 and the formula in MLX, on the processor."""

import mlx.core as mx
import numpy as np
import pytest

from engine.model.kernels import Routing
from engine.model.metal import router
from engine.model.metal.shader import Build, Kernel
from engine.model.plain import PlainKernels
from engine.model.weights import Linear
from tests.engine.model.metal.numbers import double, normal, stray

# An exponential of a rounded difference, a sum of at most 512 of them, two divisions.
TOLERANCE = 48


@pytest.fixture(scope="module")
def kernel(build: Build) -> Kernel:
    return router.CHOICE.build(build)


def plain(logits: mx.array, k: int, renormalize: bool) -> Routing:
    """The plain path's choice for these logits: its gate is the unit matrix."""
    gate = Linear(mx.eye(logits.shape[1]), None, None, 0, 0)
    return PlainKernels(mx.float32).route(logits.astype(mx.float32), gate, k, renormalize)


@pytest.mark.parametrize(
    ("tokens", "experts", "k"),
    [(1, 512, 10), (1, 256, 8), (3, 16, 4), (2, 33, 32), (1, 7, 7), (1, 1, 1)],
)
@pytest.mark.parametrize("renormalize", [True, False])
def test_choices_over_shapes(
    kernel: Kernel, tokens: int, experts: int, k: int, renormalize: bool
) -> None:
    logits = normal(np.random.default_rng(k), (tokens, experts), mx.float32) * 3
    got, wanted = router.choose(kernel, logits, k, renormalize), plain(logits, k, renormalize)
    assert mx.array_equal(got.ids, wanted.ids)
    chances = np.exp(double(logits))
    chances /= chances.sum(axis=1, keepdims=True)
    scores = np.take_along_axis(chances, np.array(got.ids).astype(np.int64), axis=1)
    if renormalize:
        scores /= scores.sum(axis=1, keepdims=True)
    assert stray(got.scores, scores) < TOLERANCE
    assert (got.ids.dtype, got.scores.dtype) == (mx.uint32, mx.float32)


@pytest.mark.parametrize("dtype", [mx.bfloat16, mx.float16])
def test_equals_are_taken_by_id(kernel: Kernel, dtype: mx.Dtype) -> None:
    """Coarse logits tie often, and every tie goes to the lower id."""
    logits = mx.round(normal(np.random.default_rng(0), (4, 256), mx.float32)).astype(dtype)
    got, wanted = router.choose(kernel, logits, 8, True), plain(logits, 8, True)
    assert mx.array_equal(got.ids, wanted.ids)
    assert router.choose(kernel, mx.zeros((1, 64), dtype), 4, True).ids.tolist() == [[0, 1, 2, 3]]


def test_extremes_choose_experts_that_exist(kernel: Kernel) -> None:
    largest = float(np.finfo(np.float32).max)
    rows = np.zeros((4, 40), np.float32)
    rows[0, 33] = largest
    rows[1, :] = -largest
    rows[2, 5] = np.nan
    rows[3, 7] = np.inf
    got = router.choose(kernel, mx.array(rows), 4, True)
    assert got.ids[0].tolist() == [33, 0, 1, 2]
    assert got.scores[0].tolist() == [1, 0, 0, 0]
    assert got.scores[1].tolist() == [0.25] * 4
    assert mx.isnan(got.scores).any(axis=1).tolist() == [False, False, True, True]
    for ids in got.ids.tolist():
        assert len(set(ids)) == 4
        assert max(ids) < 40
