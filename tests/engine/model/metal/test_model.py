"""The whole model with its decode step by the shaders, executed on the processor."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import mlx.core as mx
import pytest

from engine import loading
from engine.loading import load_model
from engine.model.hybrid import Model
from engine.model.kernels import Kernels
from engine.model.metal.kernels import GROUPS, MetalKernels
from engine.model.plain import PlainKernels
from tests.engine.conftest import TinyModels
from tests.engine.tiny import FAMILIES, Family
from tests.shaders.host import HostTarget

PROMPT = [3, 141, 59, 26, 53, 58]
TOKENS = 200
SMALL = {"num_hidden_layers": 2, "full_attention_interval": 2}  # a layer of either kind


@pytest.fixture(scope="module")
def shaders(program_folder: Path) -> Iterator[MetalKernels]:
    """In one order of lanes: the kernels' own tests run them in three."""
    target = HostTarget(program_folder, schedules=1)
    yield MetalKernels(mx.float32, target)
    target.close()


def greedy(model: Model, count: int) -> tuple[list[int], list[mx.array]]:
    """The likeliest `count` tokens after PROMPT, and the logits of each."""
    state = model.new_state()
    tokens, seen = [], [model.read(PROMPT, state)]
    for _ in range(count):
        tokens.append(int(mx.argmax(seen[-1]).item()))
        seen.append(model.decode(tokens[-1], state))
    return tokens, seen


def answer(
    path: Path, kernels: Kernels, slots: int, count: int
) -> tuple[list[int], list[mx.array]]:
    with closing(load_model(path, slots=slots, kernels=kernels)) as model:
        return greedy(model, count)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_tokens_are_those_of_the_plain_path(
    tiny_models: TinyModels, shaders: MetalKernels, family: Family
) -> None:
    path = tiny_models.container(family, bits=4, **SMALL)
    fast, _ = answer(path, shaders, 16, TOKENS)
    plain, _ = answer(path, PlainKernels(mx.float32), 16, TOKENS)
    assert fast == plain


@pytest.mark.parametrize("form", [{"bits": 8}, {"bits": "mixed"}, {"bits": 4, "group_size": 32}])
def test_logits_are_those_of_the_plain_path(
    tiny_models: TinyModels, shaders: MetalKernels, form: dict[str, int | str]
) -> None:
    path = tiny_models.container("qwen3_5_moe", **form)
    fast, fast_logits = answer(path, shaders, 16, 6)
    plain, plain_logits = answer(path, PlainKernels(mx.float32), 16, 6)
    assert fast == plain
    for one, other in zip(fast_logits, plain_logits, strict=True):
        assert mx.abs(one - other).max().item() < 1e-4  # of logits of about 1, over four layers


def test_no_cache_changes_a_bit(tiny_models: TinyModels, shaders: MetalKernels) -> None:
    """With few slots experts come in two groups, in whatever order: the logits are the same."""
    path = tiny_models.container("qwen3_next", bits=4)
    _, all_resident = answer(path, shaders, 16, 8)
    _, few = answer(path, shaders, 4, 8)
    for one, other in zip(all_resident, few, strict=True):
        assert mx.array_equal(one, other)


def test_without_metal_every_shader_is_off_and_the_model_answers(tiny_models: TinyModels) -> None:
    path = tiny_models.container("qwen3_next", bits=4)
    kernels = MetalKernels(mx.float32)
    fast, _ = answer(path, kernels, 16, 4)
    plain, _ = answer(path, PlainKernels(mx.float32), 16, 4)
    assert kernels.off == set(GROUPS)
    assert fast == plain


@pytest.mark.parametrize(("plain", "kind"), [("1", PlainKernels), ("", MetalKernels)])
def test_a_variable_switches_all_shaders_off(
    monkeypatch: pytest.MonkeyPatch, plain: str, kind: type
) -> None:
    monkeypatch.setattr(loading, "activation_dtype", lambda: mx.bfloat16)
    monkeypatch.setenv("MARTLET_PLAIN", plain)
    assert type(loading.default_kernels()) is kind
