"""The built-in model: real text, real routing, and what it costs to run it another way.

`fixtures/heldout.json` holds a few conversations that it was not trained on,
`fixtures/replies.json` what it said greedily when its container was made, and
`fixtures/demo.trace` which experts 5,086 tokens of held-out conversations asked for.
"""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

import engine
from engine.container.container import open_container
from engine.container.dense import load_dense
from engine.container.library import built_in_model
from engine.experts.policy import Frequency, Recency
from engine.experts.simulator import replay, replay_optimal
from engine.experts.trace import load_trace
from engine.loading import activation_dtype
from engine.model.plain import PlainKernels
from engine.model_text import ModelText
from engine.session import ChatSession

FIXTURES = Path(__file__).parent / "fixtures"
END = "<|im_end|>\n"

Scored = tuple[list[int], list[int]]  # ids of a conversation, and the places of its answers' ids


@pytest.fixture(scope="module")
def conversations() -> list[Scored]:
    """Held-out conversations as ids."""
    tokenizer = ModelText(built_in_model()).tokenizer
    scored = []
    for _, turns in json.loads((FIXTURES / "heldout.json").read_text()):
        ids: list[int] = []
        places: list[int] = []
        for question, answer in turns:
            opening = f"<|im_start|>user\n{question}{END}<|im_start|>assistant\n"
            ids += tokenizer.encode_rendered(opening)
            said = tokenizer.encode_rendered(answer + "<|im_end|>")
            places += range(len(ids), len(ids) + len(said))
            ids += said + tokenizer.encode_rendered("\n")
        scored.append((ids, places))
    return scored


def perplexity(logits_of: Callable[[list[int]], mx.array], conversations: list[Scored]) -> float:
    """Of the answers, the end of each included. `logits_of`: ids (T,) -> (T, V)."""
    loss, count = 0.0, 0
    for ids, places in conversations:
        logits = logits_of(ids)
        chances = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
        told = np.array(chances)[[place - 1 for place in places], [ids[place] for place in places]]
        loss -= float(told.sum())
        count += len(places)
    return math.exp(loss / count)


@pytest.fixture(scope="module")
def reference(conversations: list[Scored]) -> float:
    """mlx-lm on the same weights, in float32."""
    model = mlx_lm_model(built_in_model())
    return perplexity(lambda ids: model(mx.array([ids]))[0], conversations)


def mlx_lm_model(path: Path) -> Any:
    """mlx-lm's model, filled from the container."""
    import mlx.nn as nn
    from mlx_lm.models import qwen3_5_moe

    config = json.loads((path / "config.json").read_text())
    model = qwen3_5_moe.Model(qwen3_5_moe.ModelArgs.from_dict(config))
    section = config["quantization"]

    def quantization(name: str, module: nn.Module) -> Any:
        return hasattr(module, "to_quantized") and section.get(name, True)

    nn.quantize(model, section["group_size"], section["bits"], class_predicate=quantization)
    tensors = load_dense(open_container(path)) | expert_tensors(path)
    named = [
        (f"language_model.{name}", t.astype(mx.float32) if t.dtype == mx.bfloat16 else t)
        for name, t in tensors.items()
    ]
    model.load_weights(named)
    return model


def expert_tensors(path: Path) -> dict[str, mx.array]:
    """The experts as one stacked tensor a projection, as mlx-lm has them."""
    layout = json.loads((path / "packed_experts" / "layout.json").read_text())
    dtypes = {"U32": (np.uint32, mx.uint32), "BF16": (np.uint16, mx.bfloat16)}
    tensors = {}
    for layer in range(layout["layerCount"]):
        blob = np.fromfile(path / "packed_experts" / f"layer_{layer:02d}.bin", np.uint8)
        blob = blob.reshape(layout["expertCount"], layout["expertStride"])
        for section in layout["sections"]:
            raw, kind = dtypes[section["dtype"]]
            part = blob[:, section["offset"] : section["offset"] + section["size"]]
            stacked = mx.array(part.copy().view(raw).reshape(-1, *section["shape"])).view(kind)
            tensors[f"model.layers.{layer}.mlp.switch_mlp.{section['name']}"] = stacked
    return tensors


@pytest.fixture
def load() -> Iterator[Callable[..., engine.Model]]:
    models: list[engine.Model] = []

    def loaded(**how: Any) -> engine.Model:
        models.append(engine.load_model(built_in_model(), **how))
        return models[-1]

    yield loaded
    for model in models:
        model.close()


def in_one_chunk(model: engine.Model) -> Callable[[list[int]], mx.array]:
    return lambda ids: model.logits(model.forward(ids, model.new_state()))


def token_by_token(model: engine.Model) -> Callable[[list[int]], mx.array]:
    def logits_of(ids: list[int]) -> mx.array:
        state = model.new_state()
        return mx.stack([model.decode(token, state) for token in ids])

    return logits_of


def test_perplexity_is_that_of_mlx_lm(
    load: Callable[..., engine.Model], conversations: list[Scored], reference: float
) -> None:
    assert 1.5 < reference < 4
    resident = perplexity(in_one_chunk(load(slots=32)), conversations)
    assert resident == pytest.approx(reference, rel=0.005)


@pytest.mark.parametrize("slots", [4, 7, 16, 31])
def test_perplexity_does_not_depend_on_the_slots(
    slots: int, load: Callable[..., engine.Model], conversations: list[Scored]
) -> None:
    """Conversations of 64 tokens and more go by the sweep, the others by the slots."""
    lengths = [len(ids) for ids, _ in conversations]
    assert min(lengths) < 64 < max(lengths)
    resident = perplexity(in_one_chunk(load(slots=32)), conversations)
    streamed = perplexity(in_one_chunk(load(slots=slots)), conversations)
    assert streamed == pytest.approx(resident, rel=1e-5)


def test_perplexity_of_the_plain_path_and_of_decode(
    load: Callable[..., engine.Model], conversations: list[Scored], reference: float
) -> None:
    few = conversations[:4]
    plain = load(slots=32, kernels=PlainKernels(activation_dtype()))
    decoded = perplexity(token_by_token(load(slots=12)), few)
    assert decoded == pytest.approx(perplexity(in_one_chunk(plain), few), rel=1e-4)


def test_greedy_replies_are_the_golden_ones(load: Callable[..., engine.Model]) -> None:
    session = ChatSession(load(slots=12))
    golden = json.loads((FIXTURES / "replies.json").read_text())
    assert len(golden) == 20
    assert {question: reply(session, question) for question in golden} == golden


def reply(session: ChatSession, question: str) -> str:
    """The greedy answer, cut after 32 tokens."""
    options = engine.GenerationOptions(temperature=0, max_tokens=32)
    *_, finished = session.stream([{"role": "user", "content": question}], options)
    return finished.text  # type: ignore[union-attr]


def test_on_its_routing_policies_keep_their_order() -> None:
    """On what held-out conversations asked for, answers and all."""
    trace = load_trace(FIXTURES / "demo.trace")
    assert trace.expert_count == 32
    assert len(trace.routes) >= 5000
    trace = replace(trace, routes=trace.routes[:1500])  # enough to tell them apart
    for slots in (8, 16):
        best = replay_optimal(trace, slots).hit_rate
        recent = replay(trace, slots, Recency).hit_rate
        frequent = replay(trace, slots, Frequency).hit_rate
        assert slots / 32 < recent < best
        assert slots / 32 < frequent < best
