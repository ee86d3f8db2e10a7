"""Hostile requests: whatever is sent, the answer is one, and never a fault of the server."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.events import Event
from engine.model_text import ModelText
from engine.options import GenerationOptions
from tests.engine.server.scripted import CHAT, NAME, Scripted, saying, serving, user
from tests.engine.text.conftest import TEMPLATE, build_tokenizer

ANSWER = (
    '🙂 <tool_call>{"name": "f", "arguments": {"a": [1, null]}}</tool_call> <tool_call> e\u0301'
)
HOSTILE = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))


class Rendering(Scripted):
    """A session that renders and tokenizes each prompt as a real one does."""

    def __init__(self, folder: Path) -> None:
        super().__init__(saying(*ANSWER))
        self.text = ModelText(folder)

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        options: GenerationOptions,
        **others: Any,
    ) -> Iterator[Event]:
        self.text.prompt(messages, tools=others["tools"], thinking=options.thinking)
        return super().stream(messages, options, **others)

    def complete(
        self, ids: Sequence[int], options: GenerationOptions, **others: Any
    ) -> Iterator[Event]:
        return super().complete([id for id in ids if 0 <= id < 0x110000], options, **others)


@pytest.fixture(scope="module")
def rendering(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("model")
    build_tokenizer().save(str(folder / "tokenizer.json"))
    config = {"eos_token": "<|im_end|>", "chat_template": TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    with serving(Rendering(folder)) as client:
        yield client


TEXT = st.text(st.characters(codec=None), max_size=12) | st.sampled_from(
    ["<|im_end|>", "<tool_call>", "\ud83d", "\x00", "a" * 3000, "auto", "text", "function"]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | TEXT
)
JUNK = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)


def loosely(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly what belongs there, at times anything."""
    return st.integers(0, 9).flatmap(lambda roll: JUNK if roll == 0 else strategy)


def record(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={k: loosely(v) for k, v in fields.items()})


PARTS = record(type=st.just("text") | st.just("image_url"), text=TEXT)
CONTENT = TEXT | st.lists(PARTS, max_size=3) | st.none()
CALLS = record(
    id=TEXT,
    type=st.just("function"),
    function=record(name=TEXT, arguments=st.sampled_from(['{"a": 1}', "{", "[]"]) | JUNK),
)
ROLES = st.sampled_from(["system", "developer", "user", "assistant", "tool", "function"])
MESSAGES = st.lists(
    loosely(
        record(
            role=ROLES,
            content=CONTENT,
            tool_calls=st.lists(CALLS, max_size=2),
            reasoning_content=TEXT,
            tool_call_id=TEXT,
        )
    ),
    max_size=4,
)
SCHEMA = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(TEXT, JUNK, max_size=2)}
)
TOOLS = st.lists(
    record(
        type=st.just("function"),
        function=record(name=st.just("f"), description=TEXT, parameters=SCHEMA),
    ),
    max_size=2,
)
NUMBER = st.floats(-3, 3) | st.integers(-3, 3)
COMMON = {
    "model": st.just(NAME),
    "stream": st.booleans(),
    "stream_options": record(include_usage=st.booleans()),
    "max_tokens": st.integers(-1, 5),
    "max_completion_tokens": st.integers(-1, 5),
    "temperature": NUMBER,
    "top_p": NUMBER,
    "top_k": st.integers(-2, 50),
    "min_p": NUMBER,
    "presence_penalty": NUMBER,
    "frequency_penalty": NUMBER,
    "repetition_penalty": NUMBER,
    "seed": st.integers(-2, 2**65),
    "stop": TEXT | st.lists(TEXT, max_size=3),
    "logit_bias": st.dictionaries(st.sampled_from(["1", "-1", "x", "9" * 12]), NUMBER, max_size=2),
    "n": st.integers(0, 2),
    "user": TEXT,
    "logprobs": st.booleans(),
    "unknown": st.none(),
}
CHATS = record(
    messages=MESSAGES,
    tools=TOOLS,
    tool_choice=st.sampled_from(["auto", "none", "required"]),
    parallel_tool_calls=st.booleans(),
    response_format=record(type=st.just("text")),
    reasoning_effort=st.sampled_from(["none", "low"]),
    chat_template_kwargs=record(enable_thinking=st.booleans()),
    **COMMON,
)
COMPLETIONS = record(
    prompt=TEXT | st.lists(st.integers(0, 300), max_size=4), echo=st.booleans(), **COMMON
)


def check(response: httpx.Response) -> None:
    if response.status_code == 200:
        assert response.content
        return
    assert 400 <= response.status_code < 500, response.text
    assert response.json()["error"]["message"]


@HOSTILE
@given(body=CHATS)
def test_any_chat(rendering: httpx.Client, body: dict[str, Any]) -> None:
    check(rendering.post(CHAT, content=json.dumps(body)))


@HOSTILE
@given(body=COMPLETIONS)
def test_any_completion(rendering: httpx.Client, body: dict[str, Any]) -> None:
    check(rendering.post("/completions", content=json.dumps(body)))


FIELDS = st.sampled_from(sorted({*COMMON, "tools", "tool_choice", "response_format", "audio"}))


@HOSTILE
@given(name=FIELDS, value=JUNK)
def test_anything_in_one_field(rendering: httpx.Client, name: str, value: Any) -> None:
    """Everything else is right, so that this field is what is judged."""
    check(rendering.post(CHAT, content=json.dumps(user("hi") | {name: value})))


@HOSTILE
@given(body=st.binary(max_size=200) | JUNK.map(lambda value: json.dumps(value).encode()))
def test_any_bytes(rendering: httpx.Client, body: bytes) -> None:
    check(rendering.post(CHAT, content=body))


PRINTABLE = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=30)


@HOSTILE
@given(
    path=st.just("/v1/models") | PRINTABLE.map(lambda text: "/" + quote(text)),
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "BREW"]),
    name=st.sampled_from(["Host", "Origin", "Authorization", "Content-Type", "Accept", "Range"]),
    value=PRINTABLE,
)
def test_any_path_method_and_header(
    rendering: httpx.Client, path: str, method: str, name: str, value: str
) -> None:
    url = rendering.base_url.copy_with(raw_path=path.encode())
    response = rendering.request(method, url, headers={name: value})
    assert response.status_code < 500
