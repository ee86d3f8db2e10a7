"""The JSON of answers: OpenAI's `chat.completion` and `text_completion`, whole or in chunks."""

import json
import secrets
import time
from collections.abc import Sequence
from typing import Any

from engine import __version__
from engine.events import AnswerStats, ReasoningDelta, TextDelta
from engine.server.parts import Part
from engine.text.tools import ToolCall

Json = dict[str, Any]


def usage(stats: AnswerStats) -> Json:
    """What an answer took, in tokens."""
    return {
        "prompt_tokens": stats.prompt_tokens,
        "completion_tokens": stats.generated_tokens,
        "total_tokens": stats.prompt_tokens + stats.generated_tokens,
        "prompt_tokens_details": {"cached_tokens": stats.cached_tokens},
    }


class ChatForm:
    """One answer of `/v1/chat/completions`."""

    kind, chunk_kind, id_prefix = "chat.completion", "chat.completion.chunk", "chatcmpl-"

    def __init__(self, model: str) -> None:
        self._head = _head(self.id_prefix, model)
        self._calls = 0

    def opening(self) -> Json | None:
        """The chunk before the first part."""
        return self._chunk({"role": "assistant", "content": ""}, None)

    def part(self, part: Part) -> Json:
        """The chunk of one part."""
        match part:
            case ReasoningDelta(text):
                return self._chunk({"reasoning_content": text}, None)
            case TextDelta(text):
                return self._chunk({"content": text}, None)
            case ToolCall():
                self._calls += 1
                call = {"index": self._calls - 1, **_call(part)}
                return self._chunk({"tool_calls": [call]}, None)

    def closing(self, reason: str) -> Json:
        """The chunk after the last part."""
        return self._chunk({}, reason)

    def usage_chunk(self, usage: Json) -> Json:
        """The chunk that tells the usage, for clients that asked."""
        return {**self._head, "object": self.chunk_kind, "choices": [], "usage": usage}

    def whole(self, parts: Sequence[Part], reason: str, usage: Json) -> Json:
        """The answer in one piece."""
        calls = [_call(part) for part in parts if isinstance(part, ToolCall)]
        reasoning = "".join(part.text for part in parts if isinstance(part, ReasoningDelta))
        text = "".join(part.text for part in parts if isinstance(part, TextDelta))
        message: Json = {"role": "assistant", "content": text if text or not calls else None}
        message |= {"reasoning_content": reasoning} if reasoning else {}
        message |= {"tool_calls": calls} if calls else {}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        return {**self._head, "object": self.kind, "choices": [choice], "usage": usage}

    def _chunk(self, delta: Json, reason: str | None) -> Json:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return {**self._head, "object": self.chunk_kind, "choices": [choice]}


class CompletionForm:
    """One answer of `/v1/completions`. Reasoning has no place there but in the text."""

    kind, id_prefix = "text_completion", "cmpl-"

    def __init__(self, model: str) -> None:
        self._head = {**_head(self.id_prefix, model), "object": self.kind}

    def opening(self) -> Json | None:
        """There is none."""
        return None

    def part(self, part: Part) -> Json:
        """The chunk of one part."""
        return self._chunk(_text(part), None)

    def closing(self, reason: str) -> Json:
        """The chunk after the last part."""
        return self._chunk("", reason)

    def usage_chunk(self, usage: Json) -> Json:
        """The chunk that tells the usage, for clients that asked."""
        return {**self._head, "choices": [], "usage": usage}

    def whole(self, parts: Sequence[Part], reason: str, usage: Json) -> Json:
        """The answer in one piece."""
        return {**self._chunk("".join(map(_text, parts)), reason), "usage": usage}

    def _chunk(self, text: str, reason: str | None) -> Json:
        choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": reason}
        return {**self._head, "choices": [choice]}


Form = ChatForm | CompletionForm


def _head(id_prefix: str, model: str) -> Json:
    return {
        "id": id_prefix + secrets.token_hex(12),
        "created": int(time.time()),
        "model": model,
        "system_fingerprint": f"martlet-{__version__}",
    }


def _call(call: ToolCall) -> Json:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    function = {"name": call.name, "arguments": arguments}
    return {"id": f"call_{secrets.token_hex(12)}", "type": "function", "function": function}


def _text(part: Part) -> str:
    return "" if isinstance(part, ToolCall) else part.text
