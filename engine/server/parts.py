"""AnswerParts: the events of one answer as what an API tells: reasoning, text and tool calls."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engine.events import Event, Finished, FinishReason, ReasoningDelta, TextDelta
from engine.text.tools import ToolCall, ToolCallSplitter

Part = ReasoningDelta | TextDelta | ToolCall


class AnswerParts:
    """Parts of one answer. Without `tools`, what looks like a call is text.

    `one_call`: the answer is over with its first call.
    """

    def __init__(self, tools: Sequence[Mapping[str, Any]] = (), *, one_call: bool = False) -> None:
        self._splitter = ToolCallSplitter(tools) if tools else None
        self._one_call = one_call
        self._called = False

    @property
    def complete(self) -> bool:
        """Whether nothing more will be told, whatever the model still writes."""
        return self._one_call and self._called

    def take(self, event: Event) -> list[Part]:
        """What this event makes known, in order."""
        match event:
            case TextDelta(text) if self._splitter:
                return self._kept(self._splitter.feed(text))
            case Finished() if self._splitter:
                return self._kept(self._splitter.finish())
            case ReasoningDelta() | TextDelta():
                return [event]
        return []

    def finish_reason(self, reason: FinishReason) -> str | None:
        """OpenAI's word for how it ended; None where it was broken off."""
        if reason in ("length", "context"):
            return "length"
        if self._called and (reason == "stop" or self.complete):
            return "tool_calls"
        return "stop" if reason == "stop" else None

    def _kept(self, pieces: Iterable[str | ToolCall]) -> list[Part]:
        kept: list[Part] = []
        for piece in pieces:
            if self.complete:
                break
            self._called |= isinstance(piece, ToolCall)
            kept.append(TextDelta(piece) if isinstance(piece, str) else piece)
        return kept
