import copy
from typing import Any

import pytest

from engine.errors import BadOption
from engine.text.messages import for_template


def one(**message: Any) -> dict[str, Any]:
    return for_template([message])[0]


def test_null_is_absent_and_content_is_always_text() -> None:
    assert one(role="assistant", content=None, name=None) == {"role": "assistant", "content": ""}


def test_text_parts_are_joined() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert one(role="user", content=parts)["content"] == "ab"


@pytest.mark.parametrize("content", [[{"type": "image_url"}], 3, [None], {"text": 1}])
def test_content_that_is_not_text_is_refused(content: Any) -> None:
    with pytest.raises(BadOption, match="content holds"):
        one(role="user", content=content)


def test_a_leading_think_block_is_the_reasoning() -> None:
    message = one(role="assistant", content="\n<think>\nhm\n</think>\n\nyes")
    assert (message["reasoning_content"], message["content"]) == ("hm", "yes")


@pytest.mark.parametrize(
    "content", ["The tag </think> ends it.", "<think>never closed", "a <think>b</think>"]
)
def test_an_answer_that_mentions_the_tag_is_left_alone(content: str) -> None:
    assert one(role="assistant", content=content) == {"role": "assistant", "content": content}


def test_typed_think_blocks_are_not_reasoning() -> None:
    message = {"role": "user", "content": "<think>x</think>y"}
    assert for_template([message]) == [message]


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        (None, {}),
        ({"a": 1}, {"a": 1}),
        ("[1]", "[1]"),
        ("{", "{"),
    ],
)
def test_call_arguments_become_objects_where_they_can(sent: Any, read: Any) -> None:
    call = {"type": "function", "function": {"name": "f", "arguments": sent}}
    message = one(role="assistant", tool_calls=[call])
    assert message["tool_calls"][0]["function"] == {"name": "f", "arguments": read}


def test_the_messages_given_are_not_changed() -> None:
    call = {"function": {"name": "f", "arguments": "{}"}}
    given = {"role": "assistant", "content": "<think>a</think>b", "tool_calls": [call]}
    before = copy.deepcopy(given)
    for_template([given])
    assert given == before
