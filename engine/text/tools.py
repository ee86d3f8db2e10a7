"""ToolCallSplitter: parts a streamed answer into text and tool calls.

Two forms stand between `<tool_call>` and `</tool_call>`: a JSON object with `name` and `arguments`
(Qwen3), and `<function=name>` around `<parameter=name>` blocks (Qwen3.5), whose values are bare
text. A call arrives when it is closed. What does not parse is text, as the model wrote it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.text.holdback import held_length
from engine.text.schema import Schema, parse_json, typed

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_FUNCTION = re.compile(r"<function=([^>\n]+)>(.*)</function>", re.DOTALL)
# A value may itself hold the closing tag: the one that counts is followed by the next parameter.
_PARAMETER = re.compile(
    r"\s*<parameter=([^>\n]+)>\n?(.*?)\n?</parameter>(?=\s*(?:<parameter=|\Z))", re.DOTALL
)

_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function that the model wants called."""

    name: str
    arguments: dict[str, Any]


class ToolCallSplitter:
    """The split of one answer. `tools`: OpenAI declarations, for the arguments' types."""

    def __init__(self, tools: Sequence[Mapping[str, Any]] = ()) -> None:
        self._schemas = dict(map(_declaration, tools))
        self._held = ""  # inside a call: from the line breaks before its opening tag on
        self._body = 0  # where in `_held` the call's body begins; 0 outside
        self._searched = 0  # up to where no closing tag ends the call
        self._after_call = False

    def feed(self, text: str) -> list[str | ToolCall]:
        """The texts and calls that are complete now, in order."""
        self._held += text
        pieces: list[str | ToolCall] = []
        while (piece := self._take_call() if self._body else self._take_text()) is not None:
            pieces.append(piece)
        return [piece for piece in pieces if piece]

    def finish(self) -> list[str | ToolCall]:
        """What was held back, when the answer ends here; a call may lack its closing tag."""
        pieces: list[str | ToolCall] = []
        while self._body:
            call = self._parse(self._held[self._body :])
            pieces.append(self._end_call(call, len(self._held)) if call else self._release_tag())
            pieces += self.feed("")
        rest, self._held = self._held, ""
        return [*pieces, rest] if rest else pieces

    def _take_text(self) -> str | None:
        """Text before the next call, or None where more must arrive first."""
        if self._after_call:
            self._held = self._held.lstrip("\n")
            self._after_call = not self._held
        text, opened, _ = self._held.partition(_OPEN)
        end = len(text) if opened else len(text) - held_length(text, [_OPEN])
        shown = text[:end].rstrip("\n")
        self._held = self._held[len(shown) :]
        if opened:
            self._body = self._searched = len(text) - len(shown) + len(_OPEN)
        return shown if shown or opened else None

    def _take_call(self) -> str | ToolCall | None:
        """The call, or its opening tag if it is malformed, or None where it is not closed yet."""
        while (close := self._held.find(_CLOSE, self._searched)) >= 0:
            body = self._held[self._body : close]
            call = self._parse(body)
            if call:
                return self._end_call(call, close + len(_CLOSE))
            if not _goes_on(body):
                return self._release_tag()
            self._searched = close + 1
        self._searched = max(self._searched, len(self._held) - len(_CLOSE) + 1)
        return None

    def _end_call(self, call: ToolCall, end: int) -> ToolCall:
        self._held, self._body, self._after_call = self._held[end:], 0, True
        return call

    def _release_tag(self) -> str:
        """The opening tag as text: a call may still follow in what it seemed to enclose."""
        tag, self._held = self._held[: self._body], self._held[self._body :]
        self._body, self._after_call = 0, False
        return tag

    def _parse(self, body: str) -> ToolCall | None:
        form = _parse_json_form if body.lstrip().startswith("{") else _parse_tag_form
        call = form(body.strip())
        return call and ToolCall(call.name, self._typed(call))

    def _typed(self, call: ToolCall) -> dict[str, Any]:
        root = self._schemas.get(call.name, {})
        properties = root.get("properties")
        known = properties if isinstance(properties, Mapping) else {}
        return {name: typed(value, known.get(name), root) for name, value in call.arguments.items()}


def _declaration(tool: Mapping[str, Any]) -> tuple[str, Schema]:
    """Name and parameters' schema; a declaration that has none gives its arguments no types."""
    function = tool.get("function")
    function = function if isinstance(function, Mapping) else tool
    parameters = function.get("parameters")
    return str(function.get("name")), parameters if isinstance(parameters, Mapping) else {}


def _parse_json_form(body: str) -> ToolCall | None:
    try:
        call = parse_json(body)
        arguments = call.get("arguments", {})
        arguments = parse_json(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return None
    name = call.get("name")
    good = isinstance(name, str) and name and isinstance(arguments, dict)
    return ToolCall(name, arguments) if good else None


def _parse_tag_form(body: str) -> ToolCall | None:
    function = _FUNCTION.fullmatch(body)
    if function is None or _PARAMETER.sub("", function[2]).strip():
        return None
    arguments = {name.strip(): value for name, value in _PARAMETER.findall(function[2])}
    return ToolCall(function[1].strip(), arguments)


def _goes_on(body: str) -> bool:
    """Whether a closing tag after this body is a part of an argument: something is still open."""
    if body.lstrip().startswith("{"):
        return '"' in _JSON_TEXT.sub("", body)
    return body.lstrip().startswith("<function=") and not body.rstrip().endswith("</function>")
