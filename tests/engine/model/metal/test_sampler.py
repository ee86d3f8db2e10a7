"""The sampler's two launches against `engine.sampling` itself, on the processor."""

from dataclasses import replace

import mlx.core as mx
import numpy as np
import pytest

from engine.model.metal import sampler
from engine.model.metal.sampler import MetalSampler
from engine.model.metal.shader import Build, Kernel
from engine.options import GenerationOptions
from engine.sampling import ResolvedOptions, Sampler, resolve

USUAL = resolve(
    GenerationOptions(temperature=0.7, top_k=20, top_p=0.8, seed=7), {}
)  # what the models ask for
PENALTIES = {"repetition_penalty": 1.3, "presence_penalty": 0.5, "frequency_penalty": 0.2}
PROMPT = [3, 50, 51, 1999]
VOCAB = 5000  # three blocks, the last ragged


@pytest.fixture(scope="module")
def kernels(build: Build) -> tuple[Kernel, Kernel]:
    return sampler.CANDIDATES.build(build), sampler.DRAW.build(build)


def logits(seed: int, vocab: int = VOCAB) -> mx.array:
    return mx.array(np.random.default_rng(seed).standard_normal(vocab).astype(np.float32) * 4)


def both(
    kernels: tuple[Kernel, Kernel], options: ResolvedOptions, steps: int = 12
) -> tuple[list[int], list[int]]:
    """The tokens of the shaders and of MLX, each fed with its own."""
    fast = MetalSampler(options, VOCAB, PROMPT, kernels)
    plain = Sampler(options, VOCAB, PROMPT)
    tokens: tuple[list[int], list[int]] = ([], [])
    for step in range(steps):
        for which, chosen in zip((fast, plain), tokens, strict=True):
            token = int(which.sample(logits(step)).item())
            which.accept(token)
            chosen.append(token)
    return tokens


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"top_p": 1.0},
        {"min_p": 0.2, "top_p": 1.0},
        {"temperature": 2.5, "top_k": 64},
        {"top_k": 1},
        {"top_k": 2, "temperature": 100.0},
        {"temperature": 0.0},
        PENALTIES,
        {**PENALTIES, "repetition_penalty": 0.8, "temperature": 0.0},
        {"logit_bias": {4999: 100.0, 7: -100.0}},
        {"logit_bias": {4999: 12.0}, **PENALTIES},
    ],
    ids=str,
)
def test_a_seed_draws_the_same_tokens(
    kernels: tuple[Kernel, Kernel], changes: dict[str, float]
) -> None:
    options = replace(USUAL, **changes)  # type: ignore[arg-type]
    assert sampler.supports(options, VOCAB)
    fast, plain = both(kernels, options)
    assert fast == plain


def test_seeds_differ(kernels: tuple[Kernel, Kernel]) -> None:
    one, _ = both(kernels, replace(USUAL, seed=1, temperature=3.0))
    other, _ = both(kernels, replace(USUAL, seed=2**40 + 5, temperature=3.0))
    assert one != other


def test_draws_follow_the_softmax(kernels: tuple[Kernel, Kernel]) -> None:
    """Of two candidates three to one, about three in four."""
    fixed = np.full(VOCAB, -20.0, np.float32)
    fixed[[10, 4000]] = np.log([3.0, 1.0])
    fast = MetalSampler(replace(USUAL, temperature=1.0, top_p=1.0, top_k=2), VOCAB, [], kernels)
    drawn = [int(fast.sample(mx.array(fixed)).item()) for _ in range(100)]
    assert set(drawn) == {10, 4000}
    assert 57 < drawn.count(10) < 93  # 75, four standard deviations; the seed is fixed


@pytest.mark.parametrize("vocab", [1, 31, 2048, 2049, 4097])
def test_the_best_of_ragged_vocabularies(kernels: tuple[Kernel, Kernel], vocab: int) -> None:
    scores = logits(vocab, vocab)
    greedy = MetalSampler(replace(USUAL, temperature=0.0), vocab, [], kernels)
    assert greedy.sample(scores).item() == mx.argmax(scores).item()


def test_equals_are_taken_by_id(kernels: tuple[Kernel, Kernel]) -> None:
    k = 20
    keys = sampler.candidates(kernels[0], mx.zeros((VOCAB,)), None, None, k)
    ids = ~np.array(keys) & np.uint64(0xFFFFFFFF)
    assert ids.tolist() == [list(range(start, start + k)) for start in (0, 2048, 4096)]


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_what_is_not_a_number_is_refused(
    kernels: tuple[Kernel, Kernel], value: float, temperature: float
) -> None:
    spoilt = np.array(logits(0))
    spoilt[4321] = value
    fast = MetalSampler(replace(USUAL, temperature=temperature), VOCAB, [], kernels)
    assert fast.sample(mx.array(spoilt)).item() == VOCAB
    nothing = mx.full((VOCAB,), -mx.inf)
    assert fast.sample(nothing).item() == VOCAB


def test_the_largest_finite_logit_is_sound(kernels: tuple[Kernel, Kernel]) -> None:
    scores = np.array(logits(0))
    scores[17] = np.finfo(np.float32).max
    fast = MetalSampler(USUAL, VOCAB, [], kernels)
    assert fast.sample(mx.array(scores)).item() == 17


@pytest.mark.parametrize(
    ("changes", "supported"),
    [
        ({}, True),
        ({"top_k": 0}, False),
        ({"top_k": 65}, False),
        ({"top_k": 0, "temperature": 0}, True),
    ],
)
def test_what_the_shaders_leave_to_mlx(changes: dict[str, float], supported: bool) -> None:
    assert sampler.supports(replace(USUAL, **changes), VOCAB) == supported  # type: ignore[arg-type]
