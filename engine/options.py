"""GenerationOptions: how the next token is chosen and when an answer ends.

One place refuses nonsense. `None` means "the model's own default" (its generation_config.json), or
off where the model names none.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.errors import BadOption


@dataclass(frozen=True, slots=True)
class GenerationOptions:
    """Sampling and stopping. Raises BadOption naming the field, its value and the limit."""

    temperature: float | None = None  # 0: greedy
    top_k: int | None = None  # 0: off
    top_p: float | None = None  # (0, 1]
    min_p: float | None = None  # [0, 1)
    repetition_penalty: float | None = None  # > 0; 1: off
    presence_penalty: float | None = None  # -2..2
    frequency_penalty: float | None = None  # -2..2
    seed: int | None = None  # None: a fresh one for each answer
    logit_bias: Mapping[int, float] = field(default_factory=dict)  # token id -> -100..100
    max_tokens: int | None = None  # None: to the end of the context
    stop: tuple[str, ...] = ()
    thinking: bool | None = None  # None: as the template does by itself

    def __post_init__(self) -> None:
        _number("temperature", self.temperature, 0, 100)
        _whole("top_k", self.top_k, 0, 2**31 - 1)
        _number("top_p", self.top_p, 0, 1, above_least=True)
        _number("min_p", self.min_p, 0, 1)
        _number("repetition_penalty", self.repetition_penalty, 0, 100, above_least=True)
        _number("presence_penalty", self.presence_penalty, -2, 2)
        _number("frequency_penalty", self.frequency_penalty, -2, 2)
        _whole("seed", self.seed, 0, 2**64 - 1)
        _whole("max_tokens", self.max_tokens, 1, 2**31 - 1)
        for token, bias in self.logit_bias.items():
            _whole("logit_bias", token, 0, 2**31 - 1)
            _number("logit_bias", bias, -100, 100)
        for text in self.stop:
            if not isinstance(text, str) or not text:
                raise BadOption(f"stop holds {text!r}.", "Give texts of one character or more.")


def _number(
    name: str, value: object, least: float, most: float, *, above_least: bool = False
) -> None:
    if value is None:
        return
    good = isinstance(value, int | float) and not isinstance(value, bool)  # NaN is in no range
    if good and (least < value if above_least else least <= value) and value <= most:  # type: ignore[operator]
        return
    bound = f"more than {least}" if above_least else f"at least {least}"
    raise BadOption(f"{name} is {value!r}.", f"It must be {bound} and at most {most}.")


def _whole(name: str, value: object, least: int, most: int) -> None:
    if value is None:
        return
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return
    raise BadOption(f"{name} is {value!r}.", f"It must be a whole number from {least} to {most}.")
