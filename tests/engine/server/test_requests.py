"""Bodies: what is read, what passes because it asks for nothing, and what is refused by name."""

import json
from typing import Any

import pytest

from engine.options import GenerationOptions
from engine.server.faults import ApiError
from engine.server.requests import ChatRequest, parse_chat, parse_completion

ASK = {"messages": [{"role": "user", "content": "hi"}]}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


def chat(**fields: Any) -> ChatRequest:
    return parse_chat(json.dumps(ASK | fields).encode(), "m")


def refusal(**fields: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        chat(**fields)
    return caught.value


def test_nothing_but_messages() -> None:
    request = chat()
    assert request.options == GenerationOptions()
    assert request.messages == ({"role": "user", "content": "hi"},)
    assert (request.tools, request.stream, request.include_usage) == ((), False, False)


def test_every_option_reaches_the_engine() -> None:
    options = chat(
        temperature=0.5,
        top_p=0.9,
        top_k=20,
        min_p=0.1,
        repetition_penalty=1.1,
        presence_penalty=1,
        frequency_penalty=-1,
        seed=7,
        max_tokens=5,
        stop=["a", "b"],
        logit_bias={"3": -100, "4": 1.5},
        chat_template_kwargs={"enable_thinking": False},
    ).options
    assert options == GenerationOptions(
        temperature=0.5,
        top_p=0.9,
        top_k=20,
        min_p=0.1,
        repetition_penalty=1.1,
        presence_penalty=1,
        frequency_penalty=-1,
        seed=7,
        max_tokens=5,
        stop=("a", "b"),
        logit_bias={3: -100, 4: 1.5},
        thinking=False,
    )


@pytest.mark.parametrize(
    ("fields", "option", "value"),
    [
        ({"max_completion_tokens": 3}, "max_tokens", 3),
        ({"max_completion_tokens": 3, "max_tokens": 9}, "max_tokens", 3),
        ({"stop": "a"}, "stop", ("a",)),
        ({"stop": []}, "stop", ()),
        ({"seed": -1}, "seed", None),
        ({"top_k": -1}, "top_k", 0),
        ({"reasoning_effort": "none"}, "thinking", False),
        ({"reasoning_effort": "high"}, "thinking", True),
        ({"logit_bias": {}}, "logit_bias", {}),
    ],
)
def test_other_ways_to_say_it(fields: dict[str, Any], option: str, value: Any) -> None:
    assert getattr(chat(**fields).options, option) == value


NO_OPS: dict[str, Any] = {
    "n": 1,
    "logprobs": False,
    "top_logprobs": 0,
    "response_format": {"type": "text"},
    "modalities": ["text"],
    "functions": [],
    "function_call": "auto",
    "store": False,
    "service_tier": "auto",
    "verbosity": "medium",
    "tools": [],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "frequency_penalty": 0,
    "metadata": {"a": "b"},
    "safety_identifier": "x",
    "prompt_cache_key": "x",
    "user": "me",
    "stream_options": {"include_usage": False, "include_obfuscation": False},
}
UNSUPPORTED: dict[str, Any] = {
    "n": 2,
    "logprobs": True,
    "top_logprobs": 5,
    "response_format": {"type": "json_object"},
    "modalities": ["text", "audio"],
    "audio": {"voice": "x"},
    "prediction": {"type": "content", "content": "x"},
    "web_search_options": {},
    "functions": [{"name": "f"}],
    "function_call": {"name": "f"},
    "store": True,
    "service_tier": "flex",
    "verbosity": "low",
    "tool_choice": "required",
    "reasoning_effort": "endless",
    "temperatur": 1,
    "options": {"num_ctx": 5},
}
WRONG: dict[str, Any] = {
    "temperature": -1,
    "top_p": 0,
    "top_k": -2,
    "min_p": 2,
    "repetition_penalty": 0,
    "presence_penalty": 3,
    "frequency_penalty": -3,
    "seed": -2,
    "max_tokens": 0,
    "max_completion_tokens": -5,
    "stop": "",
    "logit_bias": {"x": 1},
    "messages": [],
}


@pytest.mark.parametrize("name", NO_OPS)
def test_what_asks_for_nothing_passes(name: str) -> None:
    assert chat(**{name: NO_OPS[name]}).options.thinking is None


@pytest.mark.parametrize("name", sorted({*NO_OPS, *UNSUPPORTED, *WRONG} - {"messages"}))
def test_null_is_unset(name: str) -> None:
    assert chat(**{name: None}) == chat()


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_cannot_be_done_is_refused_by_name(name: str) -> None:
    error = refusal(**{name: UNSUPPORTED[name]})
    assert (error.status, error.param) == (400, name)
    assert name in error.message


@pytest.mark.parametrize("name", WRONG)
def test_what_makes_no_sense_is_refused_by_name(name: str) -> None:
    error = refusal(**{name: WRONG[name]})
    assert (error.status, error.param) == (400, name)


READS = {
    "temperature": float,
    "top_k": int,
    "seed": int,
    "stream": bool,
    "stop": str,
    "logit_bias": dict,
    "tools": list,
    "messages": list,
}
JUNK: list[Any] = [{"a": [1]}, [[1]], "é" * 5000, True, 1.5]


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, kind in READS.items() for value in JUNK if type(value) is not kind],
)
def test_a_wrong_type_is_refused_by_name(name: str, value: Any) -> None:
    error = refusal(**{name: value})
    assert str(error.param).startswith(name)
    assert len(error.message) < 300


@pytest.mark.parametrize(
    ("value", "param"),
    [
        ({"stop": ["a"] * 17}, "stop"),
        ({"stop": "a" * 1025}, "stop"),
        ({"logit_bias": {str(i): 1 for i in range(1025)}}, "logit_bias"),
        ({"logit_bias": {"1": 101}}, "logit_bias"),
        ({"logit_bias": {"١": 1}}, "logit_bias"),
        ({"stream_options": {"x": 1}}, "stream_options.x"),
        ({"chat_template_kwargs": {"x": 1}}, "chat_template_kwargs.x"),
        ({"seed": 2**64}, "seed"),
    ],
)
def test_bounds(value: dict[str, Any], param: str) -> None:
    assert refusal(**value).param == param


@pytest.mark.parametrize(
    ("prompt", "read"), [("a", "a"), (["a"], "a"), ([1, 2], (1, 2)), ([[1]], (1,)), ([], ())]
)
def test_prompts(prompt: Any, read: Any) -> None:
    assert parse_completion(json.dumps({"prompt": prompt}).encode(), "m").prompt == read


@pytest.mark.parametrize("prompt", [None, 5, {}, ["a", "b"], [[1], [2]], [True], [1.5], [{}]])
def test_prompts_that_are_none(prompt: Any) -> None:
    with pytest.raises(ApiError) as caught:
        parse_completion(json.dumps({"prompt": prompt}).encode(), "m")
    assert caught.value.param == "prompt"


@pytest.mark.parametrize("name", ["best_of", "echo", "suffix", "logprobs", "tools", "messages"])
def test_completions_do_less(name: str) -> None:
    body = {"prompt": "a", name: {"best_of": 2, "echo": True, "suffix": "b"}.get(name, [1])}
    with pytest.raises(ApiError) as caught:
        parse_completion(json.dumps(body).encode(), "m")
    assert caught.value.param == name
