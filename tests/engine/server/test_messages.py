"""Messages and tools: what reaches the template, and what is refused."""

from typing import Any

import pytest

from engine.server.faults import ApiError
from engine.server.fields import Fields
from engine.server.messages import MESSAGE_LIMIT, parse_messages
from engine.server.tools import MAX_DEPTH, parse_tools


def parsed(*messages: Any) -> list[dict[str, Any]]:
    return list(parse_messages(Fields({"messages": list(messages)})))


def system(text: str, role: str = "system") -> dict[str, str]:
    return {"role": role, "content": text}


USER = {"role": "user", "content": "hi"}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}


def test_content_may_come_in_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert parsed({"role": "user", "content": parts}) == [{"role": "user", "content": "ab"}]


def test_leading_system_and_developer_messages_become_one() -> None:
    assert parsed(system("a"), system("b", "developer"), USER, system("c")) == [
        {"role": "system", "content": "a\n\nb"},
        USER,
        {"role": "system", "content": "c"},
    ]
    assert parsed(system("a", "developer"), USER)[0] == {"role": "system", "content": "a"}


def test_what_a_client_kept_of_an_answer_is_left_out() -> None:
    answer = {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "annotations": [],
        "audio": None,
        "function_call": None,
        "name": "x",
        "reasoning_content": "hm",
        "tool_calls": [CALL],
    }
    result = {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "42"}]}
    assert parsed(USER, answer, result)[1:] == [
        {
            "role": "assistant",
            "content": "",
            "reasoning_content": "hm",
            "tool_calls": [
                {"type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
            ],
        },
        {"role": "tool", "content": "42"},
    ]


REFUSED: list[tuple[list[Any], str]] = [
    ([], "messages"),
    (["hi"], "messages[0]"),
    ([{"content": "hi"}], "messages[0].role"),
    ([{"role": "function", "content": "hi"}], "messages[0].role"),
    ([{"role": "user"}], "messages[0].content"),
    ([{"role": "user", "content": 5}], "messages[0].content"),
    ([{"role": "user", "content": ["hi"]}], "messages[0].content[0]"),
    ([USER, {"role": "user", "content": [{"type": "image_url"}]}], "messages[1].content[0].type"),
    ([{"role": "user", "content": [{"type": "text"}]}], "messages[0].content[0].text"),
    ([{"role": "assistant", "tool_calls": [CALL]}], "messages[0]"),
    ([{"role": "assistant", "tool_calls": [{}]}], "messages[0].tool_calls[0].function"),
    ([{"role": "assistant", "tool_calls": [5]}], "messages[0].tool_calls[0]"),
    (
        [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": 5}}]}],
        "messages[0].tool_calls[0].function.arguments",
    ),
    ([{"role": "assistant", "function_call": {"name": "f"}}], "messages[0].function_call"),
    ([USER] * (MESSAGE_LIMIT + 1), "messages"),
]


@pytest.mark.parametrize(("messages", "param"), REFUSED, ids=[param for _, param in REFUSED])
def test_what_is_wrong_is_named(messages: list[Any], param: str) -> None:
    with pytest.raises(ApiError) as caught:
        parsed(*messages)
    assert (caught.value.status, caught.value.param) == (400, param)


def tools(*functions: Any, **others: Any) -> Any:
    declared = [{"type": "function", "function": function} for function in functions]
    return parse_tools(Fields({"tools": declared, **others}))


def test_tools_are_reduced_to_what_templates_read() -> None:
    schema = {"type": "object", "properties": {"a": {"anyOf": [{"type": "integer"}]}}}
    [tool] = tools({"name": "f", "description": "d", "parameters": schema, "strict": True})
    assert tool["function"] == {"name": "f", "description": "d", "parameters": schema}
    [bare] = tools({"name": "f"})
    assert bare["function"]["parameters"] == {"type": "object", "properties": {}}
    assert tools({"name": "f"}, tool_choice="none") == ()


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth - 1):
        schema = {"items": schema}
    return schema


@pytest.mark.parametrize(
    ("function", "param"),
    [
        ({}, "name"),
        ({"name": "two words"}, "name"),
        ({"name": "f>"}, "name"),
        ({"name": "f" * 129}, "name"),
        ({"name": "f", "parameters": []}, "parameters"),
        ({"name": "f", "strict": 1}, "strict"),
        ({"name": "f", "parameters": nested(MAX_DEPTH + 1)}, "parameters"),
    ],
)
def test_wrong_tools_are_named(function: Any, param: str) -> None:
    with pytest.raises(ApiError) as caught:
        tools(function)
    assert caught.value.param == f"tools[0].function.{param}"


def test_a_deep_schema_passes_up_to_the_limit() -> None:
    assert tools({"name": "f", "parameters": nested(MAX_DEPTH)})


@pytest.mark.parametrize("choice", ["required", {"type": "function"}, 5, ["auto"], True])
def test_calls_cannot_be_forced(choice: Any) -> None:
    with pytest.raises(ApiError) as caught:
        tools({"name": "f"}, tool_choice=choice)
    assert caught.value.param == "tool_choice"


@pytest.mark.parametrize("kind", ["custom", "web_search"])
def test_other_tools_are_refused(kind: str) -> None:
    with pytest.raises(ApiError) as caught:
        parse_tools(Fields({"tools": [{"type": kind, "name": "f"}]}))
    assert caught.value.param == "tools[0].type"
