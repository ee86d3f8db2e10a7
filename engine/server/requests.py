"""Bodies of requests, read strictly into dataclasses. Raises ApiError for whatever cannot be done.

The fields are OpenAI's, and of others what clients of local models send: `top_k`, `min_p`,
`repetition_penalty`, `chat_template_kwargs.enable_thinking`. A field that this server cannot honour
passes while it asks for nothing (`n: 1`); fields that only label a request pass always.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.options import GenerationOptions
from engine.server.faults import ApiError, refused
from engine.server.fields import Fields, unsupported, wrong_type
from engine.server.messages import Message, parse_messages
from engine.server.options import parse_options
from engine.server.tools import Tool, parse_tools
from engine.text.schema import parse_json

_LABELS = ("metadata", "safety_identifier", "prompt_cache_key", "prompt_cache_retention")
_HARMLESS_IN_CHAT: Mapping[str, tuple[Any, ...]] = {
    "n": (1,),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
    "audio": (),
    "prediction": (),
    "web_search_options": (),
    "functions": ([],),
    "function_call": ("auto", "none"),
    "store": (False,),
    "service_tier": ("auto", "default"),
    "verbosity": ("medium",),
}
_HARMLESS_IN_COMPLETION: Mapping[str, tuple[Any, ...]] = {
    "n": (1,),
    "best_of": (1,),
    "echo": (False,),
    "suffix": ("",),
    "logprobs": (),
}
_THINKS = {
    "none": False,
    "minimal": False,
    "low": True,
    "medium": True,
    "high": True,
    "xhigh": True,
}


@dataclass(frozen=True, slots=True)
class Request:
    """What both kinds of request have."""

    options: GenerationOptions
    stream: bool
    include_usage: bool  # in a stream, as its last chunk
    user: str  # who asks, in the client's own words; for a fair queue


@dataclass(frozen=True, slots=True)
class ChatRequest(Request):
    """`POST /v1/chat/completions`."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]
    one_call: bool  # `parallel_tool_calls` is false


@dataclass(frozen=True, slots=True)
class CompletionRequest(Request):
    """`POST /v1/completions`."""

    prompt: str | tuple[int, ...]  # text or token ids


def parse_chat(body: bytes, model: str) -> ChatRequest:
    """A chat with the model of that name."""
    fields = _open(body, model)
    messages, tools = parse_messages(fields), parse_tools(fields)
    one_call = fields.flag("parallel_tool_calls") is False
    common = _common(fields, _thinking(fields))
    _close(fields, _HARMLESS_IN_CHAT)
    return ChatRequest(**common, messages=messages, tools=tools, one_call=one_call)


def parse_completion(body: bytes, model: str) -> CompletionRequest:
    """A text to be continued by the model of that name."""
    fields = _open(body, model)
    prompt, common = _prompt(fields), _common(fields, None)
    _close(fields, _HARMLESS_IN_COMPLETION)
    return CompletionRequest(**common, prompt=prompt)


def _open(body: bytes, model: str) -> Fields:
    try:
        fields = Fields(parse_json(body.decode()))
    except ValueError as error:
        raise refused(f"The body is not JSON in UTF-8: {error}.", None, "invalid_json") from error
    named = fields.text("model")
    if named not in (None, model):
        message = f"There is no model {named[:100]!r} here; this server runs {model!r}."
        raise ApiError(404, message, param="model", code="model_not_found")
    return fields


def _close(fields: Fields, harmless: Mapping[str, tuple[Any, ...]]) -> None:
    for name, values in harmless.items():
        fields.accept(name, *values)
    for name in _LABELS:
        fields.take(name)
    fields.end()


def _common(fields: Fields, thinking: bool | None) -> dict[str, Any]:
    stream_options = fields.object("stream_options") or Fields({})
    common = {
        "options": parse_options(fields, thinking),
        "stream": fields.flag("stream") or False,
        "include_usage": stream_options.flag("include_usage") or False,
        "user": fields.text("user") or "",
    }
    stream_options.flag("include_obfuscation")  # against listeners on the network; nothing is sent
    stream_options.end()
    return common


def _thinking(fields: Fields) -> bool | None:
    """Whether to reason, by either way of asking; the template's own switch wins."""
    effort = fields.text("reasoning_effort")
    if effort is not None and effort not in _THINKS:
        raise unsupported(fields.path("reasoning_effort"), effort)
    template = fields.object("chat_template_kwargs") or Fields({})
    switch = template.flag("enable_thinking")
    template.end()
    return switch if switch is not None else _THINKS.get(effort or "")


def _prompt(fields: Fields) -> str | tuple[int, ...]:
    """One text or one list of ids, either of them alone in a list as well."""
    given, path = fields.needed("prompt", fields.take("prompt")), fields.path("prompt")
    if isinstance(given, list) and given and isinstance(given[0], str | list):
        if len(given) > 1:
            raise refused(f"{path} holds {len(given)} prompts; send one at a time.", path)
        given = given[0]
    if isinstance(given, str):
        return given
    if not isinstance(given, list) or any(type(id) is not int for id in given):
        raise wrong_type(path, "a string or an array of token ids", given)
    return tuple(given)
