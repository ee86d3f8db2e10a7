"""GenerationOptions out of a request's fields. The engine judges each; refusals name the field."""

from typing import Any

from engine.errors import BadOption
from engine.options import GenerationOptions
from engine.server.faults import refused
from engine.server.fields import Fields, wrong_type

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


def parse_options(fields: Fields, thinking: bool | None) -> GenerationOptions:
    """Take the fields that say how tokens are drawn and when an answer ends. Raises ApiError."""
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
