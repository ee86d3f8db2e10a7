from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.text.tools import ToolCall, ToolCallSplitter
from tests.engine.text.splitting import cut_at, cuts

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "parameters": {
                "type": "object",
                "properties": {
                    "q": {"type": "string"},
                    "n": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                    "deep": {"type": "boolean"},
                    "where": {"type": "object"},
                },
            },
        },
    },
    {"type": "function", "function": {"name": "now"}},
]

JSON_CALL = '<tool_call>\n{"name": "look_up", "arguments": {"q": "é 🤖", "n": 3}}\n</tool_call>'
TAG_CALL = """<tool_call>
<function=look_up>
<parameter=q>
two
lines 42
</parameter>
<parameter=n>
42
</parameter>
<parameter=deep>
True
</parameter>
<parameter=where>
{"city": "Köln"}
</parameter>
</function>
</tool_call>"""
JSON_FOUND = ToolCall("look_up", {"q": "é 🤖", "n": 3})
TAG_FOUND = ToolCall(
    "look_up", {"q": "two\nlines 42", "n": 42, "deep": True, "where": {"city": "Köln"}}
)
NOW = ToolCall("now", {})


def split(pieces: list[str]) -> list[str | ToolCall]:
    """What comes out, with neighbouring texts joined."""
    splitter = ToolCallSplitter(TOOLS)
    found = [out for piece in pieces for out in splitter.feed(piece)] + splitter.finish()
    joined: list[str | ToolCall] = []
    for out in found:
        if isinstance(out, str) and joined and isinstance(joined[-1], str):
            joined[-1] += out
        else:
            joined.append(out)
    return joined


def call(body: str) -> str:
    return f"<tool_call>{body}</tool_call>"


CASES: list[tuple[str, list[str | ToolCall]]] = [
    (JSON_CALL, [JSON_FOUND]),
    (TAG_CALL, [TAG_FOUND]),
    (f"I look.\n\n{TAG_CALL}\n", ["I look.", TAG_FOUND]),
    (f"{JSON_CALL}\n{TAG_CALL}\n{JSON_CALL}", [JSON_FOUND, TAG_FOUND, JSON_FOUND]),
    (f"{JSON_CALL}\n\nDone.\n", [JSON_FOUND, "Done.\n"]),
    (call('{"name": "now"}'), [NOW]),
    (call('{"name": "now", "arguments": "{\\"a\\": 1}"}'), [ToolCall("now", {"a": 1})]),
    (call('{"name": "look_up", "arguments": {"n": "7"}}'), [ToolCall("look_up", {"n": 7})]),
    (call('{"name": "other", "arguments": {"n": "7"}}'), [ToolCall("other", {"n": 7})]),
    (call("\n<function=now>\n</function>\n"), [NOW]),
    (
        call("<function=look_up>\n<parameter=q>\n\n</parameter>\n</function>"),
        [ToolCall("look_up", {"q": ""})],
    ),
    (
        call("<function=look_up><parameter=q></parameter> in</parameter></function>"),
        [ToolCall("look_up", {"q": "</parameter> in"})],
    ),
    # a closing tag inside an argument does not end the call
    (
        call('{"name": "look_up", "arguments": {"q": "a</tool_call>b"}}'),
        [ToolCall("look_up", {"q": "a</tool_call>b"})],
    ),
    (
        call("<function=look_up>\n<parameter=q>\n</tool_call>\n</parameter>\n</function>"),
        [ToolCall("look_up", {"q": "</tool_call>"})],
    ),
    # the answer ended before the closing tag
    ('<tool_call>\n{"name": "now", "arguments": {}}\n', [NOW]),
    # malformed calls are text
    (call("nothing"), [call("nothing")]),
    (call(""), [call("")]),
    (call('{"name": 3}') + "\nx", [call('{"name": 3}') + "\nx"]),
    (call('{"name": "a", "arguments": [1]}'), [call('{"name": "a", "arguments": [1]}')]),
    (call('{"name": "a", "arguments": "x"}'), [call('{"name": "a", "arguments": "x"}')]),
    (
        call('{"name": "a", "arguments": {"v": NaN}}'),
        [call('{"name": "a", "arguments": {"v": NaN}}')],
    ),
    (call("<function=now>\nloose\n</function>"), [call("<function=now>\nloose\n</function>")]),
    ("a\n\n<tool_call>{open", ["a\n\n<tool_call>{open"]),
    (f"a\n{call('bad')}{JSON_CALL}", [f"a\n{call('bad')}", JSON_FOUND]),
    (f"Use <tool_call> so:\n{JSON_CALL}", ["Use <tool_call> so:", JSON_FOUND]),
    (f'<tool_call>{{"name": "{TAG_CALL}', ['<tool_call>{"name": "', TAG_FOUND]),
    ("Write <tool_call> and stop.", ["Write <tool_call> and stop."]),
    ("plain\n\n", ["plain\n\n"]),
    ("<tool_", ["<tool_"]),
    ("", []),
]


@pytest.mark.parametrize(("text", "found"), CASES)
def test_calls_split_at_every_byte(text: str, found: list[str | ToolCall]) -> None:
    for pieces in cuts(text):
        assert split(pieces) == found


FRAGMENTS = [
    "<tool_call>",
    "</tool_call>",
    '{"name": "now", "arguments": {}}',
    '{"name": "',
    '"}',
    "<function=now>",
    "</function>",
    "<parameter=q>",
    "</parameter>",
    "\n",
    "<",
    "é",
]


@given(
    st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join),
    st.lists(st.integers(0, 150), max_size=6),
)
@settings(deadline=None, max_examples=200)
def test_what_comes_out_does_not_depend_on_the_cuts(text: str, places: list[int]) -> None:
    assert split(cut_at(text, places)) == split([text])


@given(st.lists(st.sampled_from(FRAGMENTS[1:]), max_size=12).map("".join))
@settings(deadline=None, max_examples=200)
def test_text_without_calls_arrives_unchanged(text: str) -> None:
    assert "".join(map(str, split([text]))) == text


def test_text_and_calls_are_not_held_longer_than_they_must() -> None:
    splitter = ToolCallSplitter(TOOLS)
    assert splitter.feed("one ") == ["one "]
    assert splitter.feed("two\n<tool") == ["two"]
    assert splitter.feed('_call>{"name": "now"}</tool_call') == []
    assert splitter.feed(">") == [NOW]
    assert splitter.feed("\nthree") == ["three"]


@pytest.mark.parametrize(
    "tool", [{}, {"function": 3}, {"function": {"name": "now", "parameters": 3}}]
)
def test_odd_declarations_give_no_types(tool: Any) -> None:
    splitter = ToolCallSplitter([tool])
    assert splitter.feed(call('{"name": "now"}')) == [NOW]
