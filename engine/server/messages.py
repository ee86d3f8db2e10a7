"""The `messages` of a chat request, checked and reduced to what templates read.

Templates of the Qwen families know one system message, the first. Clients send several, or call
them `developer`: those that lead the conversation become one. What else a message carries (names,
ids, what a client kept of an earlier answer) changes nothing and is left out.
"""

from typing import Any

from engine.server.faults import refused
from engine.server.fields import Fields, unsupported

MESSAGE_LIMIT = 4096

Message = dict[str, Any]


def parse_messages(fields: Fields) -> tuple[Message, ...]:
    """Take `messages`. Raises ApiError naming the message and the field."""
    given = fields.needed("messages", fields.items("messages"))
    if not 1 <= len(given) <= MESSAGE_LIMIT:
        raise refused(
            f"messages holds {len(given)}; send 1 to {MESSAGE_LIMIT}.", fields.path("messages")
        )
    paths = [f"{fields.path('messages')}[{i}]" for i in range(len(given))]
    messages = [_message(Fields(*pair)) for pair in zip(given, paths, strict=True)]
    if messages[-1].get("tool_calls"):
        raise refused(f"{paths[-1]} calls tools; their results must follow.", paths[-1])
    return tuple(_with_one_system(messages))


def _message(fields: Fields) -> Message:
    match fields.needed_text("role"):
        case "system" | "developer":
            return {"role": "system", "content": fields.needed("content", _content(fields))}
        case "user":
            return {"role": "user", "content": fields.needed("content", _content(fields))}
        case "assistant":
            return _assistant(fields)
        case "tool":
            return {"role": "tool", "content": _content(fields) or ""}
        case role:
            raise unsupported(fields.path("role"), role)


def _assistant(fields: Fields) -> Message:
    message: Message = {"role": "assistant", "content": _content(fields) or ""}
    if reasoning := fields.text("reasoning_content"):
        message["reasoning_content"] = reasoning
    calls = fields.items("tool_calls") or []
    if calls:
        path = fields.path("tool_calls")
        message["tool_calls"] = [_call(Fields(c, f"{path}[{i}]")) for i, c in enumerate(calls)]
    fields.accept("function_call")
    fields.accept("audio")
    return message


def _content(fields: Fields) -> str | None:
    """Text, or the text of all parts."""
    content = fields.take("content")
    if content is None or isinstance(content, str):
        return content
    path = fields.path("content")
    if not isinstance(content, list):
        raise refused(f"{path} must be a string or an array of parts.", path, "invalid_type")
    return "".join(_part(Fields(part, f"{path}[{i}]")) for i, part in enumerate(content))


def _part(fields: Fields) -> str:
    kind = fields.needed_text("type")
    if kind != "text":
        raise unsupported(fields.path("type"), kind)
    return fields.needed_text("text")


def _call(fields: Fields) -> dict[str, Any]:
    kind = fields.text("type")
    if kind not in (None, "function"):
        raise unsupported(fields.path("type"), kind)
    function = fields.needed("function", fields.object("function"))
    name, arguments = function.needed_text("name"), function.take("arguments")
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, str | dict):
        path = function.path("arguments")
        raise refused(f"{path} must be JSON text.", path, "invalid_type")
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def _with_one_system(messages: list[Message]) -> list[Message]:
    count = 0
    while count < len(messages) and messages[count]["role"] == "system":
        count += 1
    if count < 2:
        return messages
    joined = "\n\n".join(message["content"] for message in messages[:count])
    return [{"role": "system", "content": joined}, *messages[count:]]
