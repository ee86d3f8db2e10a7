"""The sampler against a reference in plain numpy, float64, written from the definitions."""

import logging
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.errors import BadContainer, BadOption
from engine.options import GenerationOptions
from engine.sampling import ResolvedOptions, Sampler, filtered, resolve

Floats = NDArray[np.float64]

V = 12
# no two are equal, nor become so by the penalties below: float32 and float64 would differ
LOGITS = [1.03, -0.51, 3.07, 2.53, 0.02, -2.11, 2.91, 1.57, -1.13, 0.71, 2.17, -3.19]


def options(**chosen: Any) -> ResolvedOptions:
    return resolve(GenerationOptions(**({"seed": 1} | chosen)), {})


def reference(
    logits: Sequence[float], o: ResolvedOptions, prompt: Sequence[int], answer: Sequence[int]
) -> Floats:
    """The probability of each token."""
    scores = np.array(logits, dtype=np.float64)
    counts = Counter(answer)
    for token, bias in o.logit_bias.items():
        scores[token] += bias
    for token in {*prompt, *answer}:
        over = scores[token] > 0
        scores[token] *= 1 / o.repetition_penalty if over else o.repetition_penalty
    for token, count in counts.items():
        scores[token] -= o.presence_penalty + o.frequency_penalty * count
    if o.temperature == 0:
        best: Floats = np.eye(len(scores))[scores.argmax()]
        return best
    probabilities = _softmax(scores / o.temperature)
    order = np.argsort(-probabilities)
    if o.top_k:
        probabilities[order[o.top_k :]] = 0
    if o.top_p < 1:
        ranked = probabilities[order] / probabilities.sum()
        enough = int(np.searchsorted(np.cumsum(ranked), o.top_p)) + 1
        probabilities[order[enough:]] = 0
    probabilities[probabilities < o.min_p * probabilities.max()] = 0
    total: Floats = probabilities / probabilities.sum()
    return total


def _softmax(scores: Floats) -> Floats:
    weights = np.exp(scores - scores.max())
    shares: Floats = weights / weights.sum()
    return shares


def draw(o: ResolvedOptions, count: int, logits: list[float] = LOGITS) -> list[int]:
    """`count` draws from the same logits, none of which counts as answered."""
    sampler, scores = Sampler(o, len(logits)), mx.array(logits)
    return [read(sampler.sample(scores)) for _ in range(count)]


def read(token: mx.array) -> int:
    value = token.item()
    assert isinstance(value, int)
    return value


SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "cold": {"temperature": 0.5},
    "hot": {"temperature": 3.0},
    "top-k": {"top_k": 4},
    "top-p": {"top_p": 0.7},
    "min-p": {"min_p": 0.3},
    "all": {"temperature": 1.5, "top_k": 7, "top_p": 0.9, "min_p": 0.2},
    "bias": {"logit_bias": {2: -100, 11: 6.5}, "top_k": 5},
}


@pytest.mark.parametrize("chosen", SETTINGS.values(), ids=SETTINGS.keys())
def test_draws_are_distributed_as_defined(chosen: dict[str, Any]) -> None:
    o, count = options(**chosen), 3000
    expected = reference(LOGITS, o, [], []) * count
    seen = np.bincount(draw(o, count), minlength=V)
    assert set(np.flatnonzero(seen)) <= set(np.flatnonzero(expected))
    possible = expected > 0
    distance = ((seen - expected)[possible] ** 2 / expected[possible]).sum()
    freedom = int(possible.sum()) - 1
    # chance of more than six deviations: below 1e-6; the seed is fixed, so it holds or it does not
    assert distance < freedom + 6 * math.sqrt(2 * freedom) + 6


CHOICES = st.fixed_dictionaries(
    {
        "temperature": st.sampled_from([0.3, 1.0, 2.0]),
        "top_k": st.integers(0, V + 2),
        "top_p": st.sampled_from([0.05, 0.31, 0.63, 0.97, 1.0]),
        "min_p": st.sampled_from([0.0, 0.013, 0.21, 1.0]),
        "repetition_penalty": st.sampled_from([1.0, 0.8, 1.3]),
        "presence_penalty": st.sampled_from([0.0, 1.1, -0.7]),
        "frequency_penalty": st.sampled_from([0.0, 0.37, -0.23]),
        "logit_bias": st.dictionaries(st.integers(0, V - 1), st.sampled_from([-100, -1.7, 2.3])),
    }
)
TOKENS = st.lists(st.integers(0, V - 1), max_size=6)


@given(CHOICES, TOKENS, TOKENS, st.permutations(LOGITS), st.integers(0, 2**64 - 1))
@settings(deadline=None, max_examples=150)
def test_only_what_the_definitions_allow_is_drawn(
    chosen: dict[str, Any], prompt: list[int], answer: list[int], logits: list[float], seed: int
) -> None:
    o = options(**chosen, seed=seed)
    sampler = Sampler(o, V, prompt)
    for token in answer:
        sampler.accept(token)
    allowed = reference(logits, o, prompt, answer) > 0
    drawn = [read(sampler.sample(mx.array(logits))) for _ in range(5)]
    assert all(allowed[token] for token in drawn)


@given(CHOICES, TOKENS, TOKENS, st.permutations(LOGITS))
@settings(deadline=None, max_examples=100)
def test_greedy_is_the_highest_score_after_the_penalties(
    chosen: dict[str, Any], prompt: list[int], answer: list[int], logits: list[float]
) -> None:
    o = options(**(chosen | {"temperature": 0.0}))
    sampler = Sampler(o, V, prompt)
    for token in answer:
        sampler.accept(token)
    best = int(reference(logits, o, prompt, answer).argmax())
    assert sampler.sample(mx.array(logits)).item() == best


@pytest.mark.parametrize("size", [1280, 2500, 3001])
@pytest.mark.parametrize("top_k", [1, 7, 20, 1000])
def test_top_k_of_a_large_vocabulary_is_exact(size: int, top_k: int) -> None:
    scores = np.random.default_rng(size + top_k).permutation(size).astype(np.float32) - size
    ids, kept = filtered(mx.array(scores), options(top_k=top_k))
    order = np.argsort(-scores)[:top_k]
    assert ids is not None
    assert np.array(ids).tolist() == order.tolist()
    assert np.array(kept).tolist() == scores[order].tolist()


def test_greedy_takes_the_lowest_id_of_equals() -> None:
    logits = mx.zeros((1000,)).at[mx.array([17, 400, 999])].add(2.0)
    assert Sampler(options(temperature=0), 1000).sample(logits).item() == 17


@pytest.mark.parametrize("temperature", [1e-40, 1e-30, 1e-6])
def test_the_coldest_temperatures_are_greedy_too(temperature: float) -> None:
    assert set(draw(options(temperature=temperature), 20)) == {2}


def test_the_same_seed_gives_the_same_answer_whatever_happens_between() -> None:
    first = draw(options(temperature=2.0, seed=2**64 - 1), 50)
    sampler, again = Sampler(options(temperature=2.0, seed=2**64 - 1), V), []
    for _ in range(50):
        again.append(read(sampler.sample(mx.array(LOGITS))))
        mx.random.seed(3)
        mx.eval(mx.random.uniform())
    assert again == first
    assert draw(options(temperature=2.0, seed=5), 50) != first


def test_a_tiny_change_of_the_logits_changes_no_draw() -> None:
    o = options(top_k=6, top_p=0.95)
    shifted = [logit + 1e-6 * (-1) ** i for i, logit in enumerate(LOGITS)]
    assert draw(o, 200) == draw(o, 200, shifted)


def test_ids_may_ride_along_unknown() -> None:
    o = options(temperature=1.0, frequency_penalty=1.0, repetition_penalty=1.2)
    lazy, known = Sampler(o, V, [1]), Sampler(o, V, [1])
    riding, drawn = [], []
    for _ in range(10):
        riding.append(lazy.sample(mx.array(LOGITS)))
        lazy.accept(riding[-1])
        drawn.append(read(known.sample(mx.array(LOGITS))))
        known.accept(drawn[-1])
    assert mx.stack(riding).tolist() == drawn


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize(
    "chosen", [{"temperature": 0}, {}, {"top_k": 3, "frequency_penalty": 1.0}, {"top_p": 0.5}]
)
def test_logits_that_are_not_numbers_are_an_error(bad: float, chosen: dict[str, Any]) -> None:
    sampler = Sampler(options(**chosen), V)
    token = sampler.sample(mx.array([*LOGITS[:-1], bad]))
    sampler.accept(token)
    with pytest.raises(BadContainer, match="not a number"):
        sampler.check(read(token))
    with pytest.raises(BadContainer, match="not a number"):
        sampler.accept(read(token))


def test_half_precision_logits_are_taken() -> None:
    logits = mx.array(LOGITS).astype(mx.bfloat16)
    assert Sampler(options(temperature=0), V).sample(logits).item() == 2


def test_a_bias_outside_the_vocabulary_is_refused() -> None:
    with pytest.raises(BadOption, match=r"id 12.*end at 11"):
        Sampler(options(logit_bias={V: 1.0}), V)


def test_what_is_left_open_comes_from_the_model() -> None:
    defaults = {"do_sample": True, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "other": 1}
    o = resolve(GenerationOptions(top_p=0.5, max_tokens=9, stop=("x",), thinking=True), defaults)
    assert (o.temperature, o.top_k, o.top_p, o.min_p) == (0.6, 20, 0.5, 0.0)
    assert (o.repetition_penalty, o.presence_penalty, o.frequency_penalty) == (1.0, 0.0, 0.0)
    assert (o.max_tokens, o.stop, o.thinking) == (9, ("x",), True)


def test_a_model_that_does_not_sample_is_greedy_unless_told_otherwise() -> None:
    defaults = {"do_sample": False, "temperature": 0.6}
    assert resolve(GenerationOptions(), defaults).temperature == 0
    assert resolve(GenerationOptions(temperature=0.9), defaults).temperature == 0.9


def test_without_defaults_the_plain_distribution_is_drawn_from() -> None:
    o = resolve(GenerationOptions(), {})
    assert (o.temperature, o.top_k, o.top_p, o.min_p) == (1.0, 0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("name", "value", "off"),
    [
        ("temperature", -1, 1.0),
        ("temperature", "hot", 1.0),
        ("temperature", math.nan, 1.0),
        ("top_k", -1, 0),
        ("top_k", 2.5, 0),
        ("top_p", 0, 1.0),
        ("min_p", True, 0.0),
        ("repetition_penalty", 0, 1.0),
        ("presence_penalty", [1], 0.0),
    ],
)
def test_broken_defaults_are_ignored_and_logged(
    name: str, value: Any, off: float, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert getattr(resolve(GenerationOptions(), {name: value}), name) == off
    assert name in caplog.text


def test_an_answer_without_a_seed_gets_a_fresh_one() -> None:
    seeds = {resolve(GenerationOptions(), {}).seed for _ in range(20)}
    assert len(seeds) > 1
    assert resolve(GenerationOptions(seed=0), {}).seed == 0
