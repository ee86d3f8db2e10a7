"""Chat messages as templates expect them, from messages as people and clients send them.

Both are OpenAI's form: `role`, `content`, `reasoning_content`, `tool_calls`. Templates differ in
what they can bear, so that the differences are settled here: null is absent, content is text.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from engine.errors import BadOption

Message = Mapping[str, Any]


def for_template(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Copies with plain text content. Raises BadOption where content is not text."""
    return [_message(message) for message in messages]


def _message(message: Message) -> dict[str, Any]:
    cleaned = {key: value for key, value in message.items() if value is not None}
    cleaned["content"] = _text(cleaned.get("content", ""))
    if cleaned.get("role") == "assistant":
        _part_from_reasoning(cleaned)
    if "tool_calls" in cleaned:
        cleaned["tool_calls"] = [_tool_call(call) for call in cleaned["tool_calls"]]
    return cleaned


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list | tuple) else [content]
    return "".join(_part_text(part) for part in parts)


def _part_text(part: object) -> str:
    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
        text: str = part["text"]
        return text
    kind = part.get("type") if isinstance(part, Mapping) else part
    raise BadOption(
        f"A message's content holds {kind!r}.", "Send text: this engine reads nothing else."
    )


def _part_from_reasoning(message: dict[str, Any]) -> None:
    """Move a leading <think> block, which some clients send inside the content, to its own key.

    Templates do so themselves, but would also cut answers that merely mention the tag.
    """
    content: str = message["content"]
    if "reasoning_content" in message or not content.lstrip().startswith("<think>"):
        return
    reasoning, closed, answer = content.lstrip().removeprefix("<think>").partition("</think>")
    if closed:
        message |= {"reasoning_content": reasoning.strip("\n"), "content": answer.lstrip("\n")}


def _tool_call(call: Any) -> Any:
    """A call whose arguments are an object: clients send them as JSON text."""
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        return call
    return {**call, "function": {**function, "arguments": _arguments(function.get("arguments"))}}


def _arguments(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments or {}
    try:
        parsed = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments
    return parsed if isinstance(parsed, dict) else arguments
