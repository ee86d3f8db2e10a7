"""The forward pass against two independent references, and against itself in other splits."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from engine.errors import Cancelled, ContextFull
from engine.experts.lookahead import Lookahead
from engine.experts.policy import Frequency, Recency
from engine.experts.reader import Batch, ExpertReader, ReadRequest
from engine.loading import default_kernels, load_model
from engine.model.hybrid import Model
from engine.model.kernels import Kernels
from engine.model.plain import PlainKernels
from tests.engine.conftest import TinyModels
from tests.engine.model.transformers_reference import FILE, IDS, SEED
from tests.engine.tiny import FAMILIES, Family

Load = Callable[..., Model]

FORMS: list[dict[str, Any]] = [
    {"bits": None},
    {"bits": 4},
    {"bits": 4, "group_size": 32},
    {"bits": 8},
    {"bits": "mixed"},
    {"bits": 4, "tie_word_embeddings": True},
]


# Absent, it means true; mlx-lm agrees for this family only.
CASES = [(family, form) for family in FAMILIES for form in FORMS]
CASES.append(("qwen3_5_moe", {"bits": 4, "norm_topk_prob": None}))


def named(case: str | dict[str, Any]) -> str:
    if isinstance(case, str):
        return case
    return "-".join(f"{key}={value}" for key, value in case.items())


@pytest.fixture
def load() -> Iterator[Load]:
    """load_model, closed at the end."""
    models: list[Model] = []

    def loaded(path: Path, **how: Any) -> Model:
        models.append(load_model(path, **{"slots": 16} | how))
        return models[-1]

    yield loaded
    for model in models:
        model.close()


def prompt(length: int, seed: int = 3) -> list[int]:
    return [int(i) for i in np.random.RandomState(seed).randint(0, 250, length)]


def greedy(model: Model, ids: list[int], count: int, chunk_tokens: int = 512) -> list[int]:
    """The most likely `count` tokens after `ids`."""
    state = model.new_state()
    logits = model.read(ids, state, chunk_tokens)
    tokens: list[int] = []
    while True:
        tokens.append(int(mx.argmax(logits).item()))
        if len(tokens) == count:
            return tokens
        logits = model.decode(tokens[-1], state)


def reference(checkpoint: Path) -> Any:
    """mlx-lm's own model of a checkpoint."""
    from mlx_lm.utils import load_model as load_reference

    return load_reference(checkpoint)[0]


@pytest.mark.parametrize(("family", "form"), CASES, ids=named)
def test_logits_and_greedy_tokens_are_those_of_mlx_lm(
    family: Family, form: dict[str, Any], tiny_models: TinyModels, load: Load
) -> None:
    model = load(tiny_models.container(family, **form), slots=6)
    theirs = reference(tiny_models.checkpoint(family, **form))
    ids = prompt(40)
    expected = theirs(mx.array([ids]))[0]
    ours = model.logits(model.forward(ids, model.new_state()))
    assert mx.abs(ours - expected).max().item() < 1e-3
    assert greedy(model, ids, 64) == reference_greedy(theirs, ids, 64)


def reference_greedy(theirs: Any, ids: list[int], count: int) -> list[int]:
    cache = theirs.make_cache()
    logits = theirs(mx.array([ids]), cache=cache)[0, -1]
    tokens: list[int] = []
    while True:
        tokens.append(int(mx.argmax(logits).item()))
        if len(tokens) == count:
            return tokens
        logits = theirs(mx.array([tokens[-1:]]), cache=cache)[0, -1]


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_and_greedy_tokens_are_those_of_transformers(
    family: Family, tiny_models: TinyModels, load: Load
) -> None:
    model = load(tiny_models.container(family, bits=None, seed=SEED), slots=4)
    recorded = np.load(FILE)
    logits = np.array(model.logits(model.forward(IDS, model.new_state())))
    assert np.abs(logits - recorded[f"{family}.logits"]).max() < 1e-3
    expected = recorded[f"{family}.greedy"].tolist()
    assert greedy(model, IDS, len(expected)) == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_any_split_of_a_prompt_gives_the_same_logits(
    family: Family, tiny_models: TinyModels, load: Load
) -> None:
    model = load(tiny_models.container(family, bits=4))
    ids = prompt(97)
    whole = model.read(ids, model.new_state())
    for chunk_tokens in (1, 2, 3, 31, 64, 96):
        split = model.read(ids, model.new_state(), chunk_tokens)
        assert mx.abs(split - whole).max().item() < 1e-4, chunk_tokens


@pytest.mark.parametrize("family", FAMILIES)
def test_the_answer_is_the_same_for_every_cache(
    family: Family, tiny_models: TinyModels, load: Load
) -> None:
    path = tiny_models.container(family, bits=4)
    ids = prompt(50)
    expected = greedy(load(path, slots=16), ids, 200)
    for slots in (4, 5, 7, 11, 15):
        for policy in (lambda *_: Recency(), lambda *_: Frequency()):
            threads = 1 + slots % 8
            model = load(path, slots=slots, policy=policy, reader_threads=threads)
            assert greedy(model, ids, 200) == expected, (slots, policy, threads)


class Watched:
    """Stands before a model's reader and notes which layers' experts are guessed."""

    def __init__(self, model: Model) -> None:
        self.guessed: set[int] = set()
        self._inner: ExpertReader = model.cache._reader
        model.cache._reader = self

    def submit(self, requests: Sequence[ReadRequest], *, lookahead: bool = False) -> Batch:
        self.guessed |= {request.layer for request in requests if lookahead}
        return self._inner.submit(requests, lookahead=lookahead)

    def close(self) -> None:
        self._inner.close()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("plain", [False, True], ids=["native", "plain"])
def test_a_sweep_reads_an_expert_once_and_looks_ahead_in_the_last_chunk(
    family: Family, plain: bool, tiny_models: TinyModels, load: Load
) -> None:
    path, ids, needed = tiny_models.container(family, bits=4), prompt(140), set[tuple[int, int]]()

    def heard(layer: int, asked: np.ndarray) -> None:
        needed.update((layer, expert) for expert in asked.ravel().tolist())

    model = load(path, slots=9, kernels=kernels(plain), on_route=heard)
    watched, state, read = Watched(model), model.new_state(), model.container.layout.payload
    model.forward(ids[:70], state, admit=False)
    assert watched.guessed == set()
    assert model.cache.stats.bytes_read == len(needed) * read
    before, layers = model.cache.stats.bytes_read, model.config.layer_count
    needed.clear()
    logits = model.logits(model.forward(ids[70:], state))[-1]
    assert watched.guessed == set(range(1, layers))
    assert model.cache.stats.bytes_read - before <= len(needed) * read
    expected = load(path, slots=16).read(ids, model.new_state())
    assert mx.abs(logits - expected).max().item() < 1e-4
    watched.guessed.clear()
    model.lookahead.allowed = False  # as on a machine that is too hot
    model.read(ids, model.new_state())
    assert watched.guessed == set()


@pytest.mark.parametrize("family", FAMILIES)
def test_the_answer_is_the_same_past_the_page_cache(
    family: Family, tiny_models: TinyModels, load: Load
) -> None:
    path, ids = tiny_models.container(family, bits=None), prompt(70)
    expected = greedy(load(path, slots=5, direct_reads=False), ids, 60)
    direct = load(path, slots=5, direct_reads=True)
    assert direct.cache.slots(0).direct  # this form's matrices are whole pages
    assert greedy(direct, ids, 60) == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_a_snapshot_restores_exactly(family: Family, tiny_models: TinyModels, load: Load) -> None:
    model = load(tiny_models.container(family, bits=4))
    state = model.new_state()
    ids = prompt(300)
    model.read(ids[:100], state)
    early = state.snapshot()
    model.read(ids[100:280], state)
    late = state.snapshot()
    expected = [model.decode(i, state) for i in ids[280:]]
    model.read(prompt(40, seed=9), state)
    for snapshot, rest in ((late, []), (early, ids[100:280]), (late, [])):
        state.restore(snapshot)
        if rest:
            model.read(rest, state)
        again = [model.decode(i, state) for i in ids[280:]]
        assert all(mx.array_equal(a, b) for a, b in zip(again, expected, strict=True))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_cancelled_chunk_leaves_no_trace(
    family: Family, tiny_models: TinyModels, load: Load
) -> None:
    model = load(tiny_models.container(family, bits=4), slots=5)
    ids = prompt(60)
    expected = model.read(ids, model.new_state())
    for layers in range(1, 5):
        state = model.new_state()
        model.read(ids[:20], state)
        calls = iter(range(1000))
        with pytest.raises(Cancelled):
            model.forward(ids[20:], state, lambda: next(calls) >= layers)  # noqa: B023
        assert state.length == 20
        assert mx.abs(model.read(ids[20:], state) - expected).max().item() < 1e-4


@pytest.mark.parametrize("family", FAMILIES)
def test_a_sweep_that_was_given_up_leaves_no_trace(
    family: Family, tiny_models: TinyModels, load: Load
) -> None:
    model = load(tiny_models.container(family, bits=4), slots=5)
    model.memory = replace(model.memory, staging=model.cache.staging(2))  # many groups
    ids, other = prompt(150), prompt(90, seed=8)
    expected = load(model.container.path, slots=16).read(ids, model.new_state())
    for groups in range(1, 26, 2):
        calls = iter(range(1000))
        with pytest.raises(Cancelled):
            model.forward(other, model.new_state(), lambda: next(calls) >= groups)  # noqa: B023
        logits = model.read(ids, model.new_state(), chunk_tokens=80)
        assert mx.abs(logits - expected).max().item() < 1e-4


def test_what_the_context_cannot_hold_is_refused(tiny_models: TinyModels, load: Load) -> None:
    model = load(tiny_models.container("qwen3_next", bits=4, max_position_embeddings=32))
    state = model.new_state()
    model.read(prompt(32), state)
    with pytest.raises(ContextFull, match=r"33 tokens .* of 32"):
        model.decode(1, state)
    assert state.length == 32


class Always(Lookahead):
    """Guesses at every token, right or wrong."""

    @property
    def looks(self) -> bool:
        return True


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("plain", [False, True], ids=["native", "plain"])
def test_the_answer_is_the_same_with_lookahead(
    family: Family, plain: bool, tiny_models: TinyModels, load: Load
) -> None:
    path = tiny_models.container(family, bits=4)
    ids = prompt(20)
    expected = greedy(load(path, slots=16, kernels=kernels(plain)), ids, 60)
    for slots in (4, 5, 6, 8, 12):
        for budget in (1, 4):
            model = load(path, slots=slots, reader_threads=1 + slots % 3, kernels=kernels(plain))
            ahead = Always(model.cache, budget)
            model.lookahead = ahead
            model.memory = replace(model.memory, lookahead=ahead)
            tokens = greedy(model, ids, 30)
            for layer in range(model.config.layer_count):  # memory changes in mid-answer
                model.cache.resize(layer, 4 + (slots + budget) % 9)
            assert tokens == expected[:30], (slots, budget)
            assert greedy(model, ids, 60) == expected, (slots, budget)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("plain", [False, True], ids=["native", "plain"])
def test_layers_with_all_experts_wait_for_nothing(
    family: Family, plain: bool, tiny_models: TinyModels, load: Load
) -> None:
    path = tiny_models.container(family, bits=4)
    ids = prompt(20)
    expected = greedy(load(path, slots=7, kernels=kernels(plain)), ids, 20)
    model = load(path, slots=16, kernels=kernels(plain))
    for layer in range(model.config.layer_count):
        model.cache.warm(layer, range(16))
    state = model.new_state()
    tokens = [int(mx.argmax(model.read(ids, state)).item())]
    before = model.cache.stats
    while len(tokens) < 20:
        tokens.append(int(mx.argmax(model.decode(tokens[-1], state)).item()))
    spent = model.cache.stats - before
    assert tokens == expected
    assert spent.readbacks == 0
    assert (spent.hits, spent.misses) == (19 * 4 * 4, 0)
    model.cache.resize(0, 15)
    assert greedy(model, ids, 20) == expected
    assert model.cache.stats.readbacks > before.readbacks


def test_a_cache_with_room_for_all_fills_itself(tiny_models: TinyModels, load: Load) -> None:
    model = load(tiny_models.container("qwen3_next", bits=4), slots=16)
    state = model.new_state()
    model.read([1], state)
    for token in range(40):
        model.decode(token, state)
    assert all(model.cache.resident(layer) for layer in range(4))


def test_whoever_records_the_routing_hears_of_every_layer(
    tiny_models: TinyModels, load: Load
) -> None:
    heard: list[int] = []
    path = tiny_models.container("qwen3_next", bits=4)
    model = load(path, slots=16, on_route=lambda layer, _: heard.append(layer))
    for layer in range(4):
        model.cache.warm(layer, range(16))
    model.decode(3, model.new_state())
    assert heard == [0, 1, 2, 3]


def kernels(plain: bool) -> Kernels:
    return PlainKernels(mx.float32) if plain else default_kernels()
