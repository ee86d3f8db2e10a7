"""AnswerText: generated ids to what a person reads: reasoning, answer, and where it must stop."""

from collections.abc import Iterator, Sequence

from engine.events import ReasoningDelta, TextDelta
from engine.text.detokenizer import Detokenizer
from engine.text.reasoning import ReasoningSplitter
from engine.text.stop import StopStrings
from engine.text.tokenizer import Tokenizer

Delta = ReasoningDelta | TextDelta


class AnswerText:
    """The text of one answer. Stop strings count in the answer, not in the reasoning."""

    def __init__(self, tokenizer: Tokenizer, stops: Sequence[str], opens_thinking: bool) -> None:
        self._detokenizer = Detokenizer(tokenizer)
        self._reasoning = ReasoningSplitter(opens_thinking)
        self._stops = StopStrings(stops)
        self._parts: list[str] = []

    @property
    def text(self) -> str:
        """The answer so far, without reasoning."""
        return "".join(self._parts)

    @property
    def stopped(self) -> bool:
        """Whether a stop string has appeared: nothing more will be shown."""
        return self._stops.stopped

    def add(self, token: int) -> Iterator[Delta]:
        """What this token makes known."""
        yield from self._split(self._detokenizer.add(token))

    def finish(self) -> Iterator[Delta]:
        """What was held back."""
        yield from self._split(self._detokenizer.finish())
        yield from self._deltas(*self._reasoning.finish())
        yield from self._shown(self._stops.finish())

    def _split(self, text: str) -> Iterator[Delta]:
        yield from self._deltas(*self._reasoning.feed(text))

    def _deltas(self, reasoning: str, answer: str) -> Iterator[Delta]:
        if reasoning:
            yield ReasoningDelta(reasoning)
        yield from self._shown(self._stops.feed(answer))

    def _shown(self, text: str) -> Iterator[Delta]:
        if text:
            self._parts.append(text)
            yield TextDelta(text)
