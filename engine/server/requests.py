"""Bodies of requests, read strictly into dataclasses. Raises ApiError for whatever cannot be done.

The fields are OpenAI's, and of others what clients of local models send: `top_k`, `min_p`,
`repetition_penalty`, `chat_template_kwargs.enable_thinking`. A field that this server cannot honour
passes while it asks for nothing (`n: 1`); fields that only label a request pass always.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import BadOption
from engine.options import GenerationOptions
from engine.server.faults import ApiError, refused
from engine.server.fields import Fields, unsupported, wrong_type
from engine.server.messages import Message, parse_messages
from engine.server.tools import Tool, parse_tools
from engine.text.schema import parse_json

STOP_LIMIT, STOP_LENGTH = 16, 1024  # texts, and characters of each
BIAS_LIMIT = 1024
RANDOM_SEED = -1  # as clients of local models say "any"
ALL_TOKENS = -1  # a `top_k` that is off, in some of them

_NUMBERS = (
    "temperature",
    "top_p",
    "min_p",
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
)
_LABELS = ("metadata", "safety_identifier", "prompt_cache_key", "prompt_cache_retention")
_CHAT_ONLY: Mapping[str, tuple[Any, ...]] = {
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
_COMPLETION_ONLY: Mapping[str, tuple[Any, ...]] = {
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
    _close(fields, _CHAT_ONLY)
    return ChatRequest(**common, messages=messages, tools=tools, one_call=one_call)


def parse_completion(body: bytes, model: str) -> CompletionRequest:
    """A text to be continued by the model of that name."""
    fields = _open(body, model)
    prompt, common = _prompt(fields), _common(fields, None)
    _close(fields, _COMPLETION_ONLY)
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
        "options": _options(fields, thinking),
        "stream": fields.flag("stream") or False,
        "include_usage": stream_options.flag("include_usage") or False,
        "user": fields.text("user") or "",
    }
    stream_options.flag("include_obfuscation")  # against listeners on the network; nothing is sent
    stream_options.end()
    return common


def _options(fields: Fields, thinking: bool | None) -> GenerationOptions:
    chosen: dict[str, Any] = {name: fields.number(name) for name in _NUMBERS}
    top_k, seed = fields.whole("top_k"), fields.whole("seed")
    chosen["top_k"] = 0 if top_k == ALL_TOKENS else top_k
    chosen["seed"] = None if seed == RANDOM_SEED else seed
    for name, value in chosen.items():
        _check(fields.path(name), name, value)
    return GenerationOptions(
        **chosen,
        max_tokens=_max_tokens(fields),
        logit_bias=_logit_bias(fields),
        stop=_stop(fields),
        thinking=thinking,
    )


def _check(path: str, option: str, value: Any) -> None:
    """Let the engine judge one option, so that the refusal can name its field."""
    one: dict[str, Any] = {option: value}
    try:
        GenerationOptions(**one)
    except BadOption as error:
        raise refused(str(error), path) from error


def _max_tokens(fields: Fields) -> int | None:
    """The newer name wins."""
    given = {name: fields.whole(name) for name in ("max_tokens", "max_completion_tokens")}
    limit = None
    for name, value in given.items():
        _check(fields.path(name), "max_tokens", value)
        limit = limit if value is None else value
    return limit


def _logit_bias(fields: Fields) -> dict[int, float]:
    given, path = fields.take("logit_bias"), fields.path("logit_bias")
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise wrong_type(path, "an object of token ids and numbers", given)
    if len(given) > BIAS_LIMIT:
        raise refused(f"{path} holds {len(given)} ids; send {BIAS_LIMIT} at most.", path)
    for key in given:
        if not (key.isascii() and key.isdigit() and len(key) < 10):
            raise refused(f"{path} holds {key[:100]!r}, which is no token id.", path)
    biases = {int(key): bias for key, bias in given.items() if bias is not None}
    _check(path, "logit_bias", biases)
    return biases


def _stop(fields: Fields) -> tuple[str, ...]:
    given, path = fields.take("stop"), fields.path("stop")
    stops = given if isinstance(given, list) else [] if given is None else [given]
    if len(stops) > STOP_LIMIT:
        raise refused(f"{path} holds {len(stops)} texts; send {STOP_LIMIT} at most.", path)
    for stop in stops:
        if not isinstance(stop, str):
            raise wrong_type(path, "a string or an array of strings", given)
        if not 1 <= len(stop) <= STOP_LENGTH:
            raise refused(
                f"{path} holds a text of {len(stop)} characters; each takes 1 to {STOP_LENGTH}.",
                path,
            )
    return tuple(stops)


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
