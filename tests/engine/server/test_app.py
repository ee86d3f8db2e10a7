"""The API over a scripted session: paths, answers whole and in chunks, errors by status."""

import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from engine.errors import BadOption, ContextFull, ReadFailed, TemplateFailed
from engine.events import Event, PrefillProgress, ReasoningDelta, TextDelta
from tests.engine.server.scripted import (
    CHAT,
    LIMIT_S,
    NAME,
    Asked,
    Scripted,
    finished,
    saying,
    serving,
    user,
)


def chunks(response: httpx.Response) -> list[dict[str, Any]]:
    """The events of a stream, which must have ended as it should."""
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    blocks = [block for block in response.text.split("\n\n") if not block.startswith(":")]
    assert blocks[-2:] == ["data: [DONE]", ""]
    return [json.loads(block.removeprefix("data: ")) for block in blocks[:-2]]


def error_of(response: httpx.Response) -> dict[str, Any]:
    error: dict[str, Any] = response.json()["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert error["message"]
    return error


def test_health_and_models(client: httpx.Client) -> None:
    assert client.get(client.base_url.join("/health")).json() == {"status": "ok"}
    listed = client.get("/models").json()
    assert listed["object"] == "list"
    assert listed["data"] == [client.get(f"/models/{NAME}").json()]
    assert listed["data"][0]["id"] == NAME
    assert listed["data"][0]["context_length"] == 4096


def test_an_answer_in_one_piece(client: httpx.Client, session: Scripted) -> None:
    answer = client.post(CHAT, json=user("héllo 👩‍🚀")).json()
    assert answer["object"] == "chat.completion"
    assert answer["model"] == NAME
    [choice] = answer["choices"]
    assert choice["message"] == {"role": "assistant", "content": "héllo 👩‍🚀"}
    assert choice["finish_reason"] == "stop"
    assert answer["usage"] == {
        "prompt_tokens": 10,
        "completion_tokens": 9,
        "total_tokens": 19,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    assert session.threads == {"model"}


def test_an_answer_in_chunks(client: httpx.Client, session: Scripted) -> None:
    def script(asked: Asked) -> Iterator[Event]:
        yield PrefillProgress(0, 8, 0)
        yield ReasoningDelta("hm")
        yield from (TextDelta("a"), TextDelta("b"))
        yield finished("length", "ab", cached=4)

    session.script = script
    body = user("?") | {"stream": True, "stream_options": {"include_usage": True}}
    told = chunks(client.post(CHAT, json=body))
    assert len({chunk["id"] for chunk in told}) == 1
    assert {chunk["object"] for chunk in told} == {"chat.completion.chunk"}
    choices = [chunk["choices"][0] for chunk in told[:-1]]
    assert [choice["delta"] for choice in choices] == [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "hm"},
        {"content": "a"},
        {"content": "b"},
        {},
    ]
    assert [choice["finish_reason"] for choice in choices] == [None] * 4 + ["length"]
    assert told[-1]["choices"] == []
    assert told[-1]["usage"]["prompt_tokens_details"] == {"cached_tokens": 4}
    assert len(chunks(client.post(CHAT, json=user("?") | {"stream": True}))) == len(told) - 1


def test_reasoning_in_one_piece(client: httpx.Client, session: Scripted) -> None:
    session.script = lambda asked: iter([ReasoningDelta("a"), TextDelta("b"), finished()])
    [choice] = client.post(CHAT, json=user("?")).json()["choices"]
    assert choice["message"] == {"role": "assistant", "content": "b", "reasoning_content": "a"}


CALL = '<tool_call>\n{"name": "look", "arguments": {"at": "5"}}\n</tool_call>'
TAGGED_CALL = (
    "<tool_call>\n<function=look>\n<parameter=at>\n5\n</parameter>\n</function>\n</tool_call>"
)
TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "parameters": {
            "type": "object",
            "properties": {"at": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        },
    },
}


@pytest.mark.parametrize("call", [CALL, TAGGED_CALL])
def test_tool_calls_in_one_piece_and_in_chunks(
    client: httpx.Client, session: Scripted, call: str
) -> None:
    session.script = saying("Let me see.\n\n", *call, "\n", *call)
    body = user("?") | {"tools": [TOOL]}
    [choice] = client.post(CHAT, json=body).json()["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] == "Let me see."
    calls = choice["message"]["tool_calls"]
    assert [call["function"] for call in calls] == [{"name": "look", "arguments": '{"at": 5}'}] * 2
    assert calls[0]["id"] != calls[1]["id"]
    told = [
        chunk["choices"][0] for chunk in chunks(client.post(CHAT, json=body | {"stream": True}))
    ]
    streamed = [c["delta"]["tool_calls"][0] for c in told if "tool_calls" in c["delta"]]
    assert [call["index"] for call in streamed] == [0, 1]
    assert streamed[1]["function"] == calls[1]["function"]
    assert told[-1]["finish_reason"] == "tool_calls"
    assert session.asked[0].tools == (TOOL,)


def test_calls_alone_have_no_content(client: httpx.Client, session: Scripted) -> None:
    session.script = saying(CALL)
    [choice] = client.post(CHAT, json=user("?") | {"tools": [TOOL]}).json()["choices"]
    assert choice["message"]["content"] is None


@pytest.mark.parametrize("words", ["<tool_call>{nonsense}</tool_call>", CALL[:30], "<tool_call>"])
def test_a_malformed_call_is_text(client: httpx.Client, session: Scripted, words: str) -> None:
    session.script = saying(*words)
    body = user("?") | {"tools": [TOOL]}
    [choice] = client.post(CHAT, json=body).json()["choices"]
    assert choice["message"]["content"] == words
    assert choice["finish_reason"] == "stop"


def test_without_tools_a_call_is_text(client: httpx.Client, session: Scripted) -> None:
    session.script = saying(CALL)
    for body in (user("?"), user("?") | {"tools": [TOOL], "tool_choice": "none"}):
        [choice] = client.post(CHAT, json=body).json()["choices"]
        assert choice["message"]["content"] == CALL


def test_one_call_ends_the_answer_that_may_have_only_one(
    client: httpx.Client, session: Scripted
) -> None:
    def script(asked: Asked) -> Iterator[Event]:
        yield TextDelta(CALL)
        while not asked.cancelled():
            yield TextDelta(CALL)
        yield finished("cancelled")

    session.script = script
    body = user("?") | {"tools": [TOOL], "parallel_tool_calls": False}
    [choice] = client.post(CHAT, json=body).json()["choices"]
    assert len(choice["message"]["tool_calls"]) == 1
    assert choice["finish_reason"] == "tool_calls"


def test_a_completion_whole_and_in_chunks(client: httpx.Client, session: Scripted) -> None:
    for prompt in ("ab", ["ab"], [97, 98], [[97, 98]]):
        answer = client.post("/completions", json={"prompt": prompt}).json()
        assert answer["object"] == "text_completion"
        assert answer["choices"] == [
            {"index": 0, "text": "ab", "logprobs": None, "finish_reason": "stop"}
        ]
    assert [list(asked.ids) for asked in session.asked] == [[97, 98]] * 4
    body = {"prompt": "ab", "stream": True, "stream_options": {"include_usage": True}}
    told = chunks(client.post("/completions", json=body))
    assert [c["choices"][0]["text"] for c in told[:-1]] == ["a", "b", ""]
    assert told[-2]["choices"][0]["finish_reason"] == "stop"
    assert told[-1]["usage"]["total_tokens"] == 12


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (ContextFull("Too long."), 400, "context_length_exceeded"),
        (TemplateFailed("No."), 400, None),
        (BadOption("No."), 400, None),
        (ReadFailed("Layer 3."), 500, None),
        (ValueError("secret"), 500, None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
@pytest.mark.parametrize("when", ["at once", "before the first byte"])
def test_a_failure_before_the_first_byte_has_a_status(
    client: httpx.Client,
    session: Scripted,
    stream: bool,
    error: Exception,
    status: int,
    code: str | None,
    when: str,
) -> None:
    def script(asked: Asked) -> Iterator[Event]:
        yield PrefillProgress(0, 10, 0)
        raise error

    session.script = script
    session.refuse = error if when == "at once" else None
    response = client.post(CHAT, json=user("?") | {"stream": stream})
    assert response.status_code == status
    told = error_of(response)
    assert told["code"] == code
    assert "secret" not in told["message"]
    session.refuse, session.script = None, saying("well")
    assert client.post(CHAT, json=user("?")).json()["choices"][0]["message"]["content"] == "well"


def test_a_later_failure_is_an_event_and_nothing_follows(
    client: httpx.Client, session: Scripted
) -> None:
    def script(asked: Asked) -> Iterator[Event]:
        yield TextDelta("a")
        raise ReadFailed("Layer 3, expert 7 could not be read.")

    session.script = script
    response = client.post(CHAT, json=user("?") | {"stream": True})
    assert response.status_code == 200
    last = response.text.strip().split("\n\n")[-1]
    assert json.loads(last.removeprefix("data: "))["error"]["type"] == "server_error"
    assert "[DONE]" not in response.text
    assert '"finish_reason":"stop"' not in response.text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", "/models/other", 404),
        ("GET", CHAT, 405),
        ("DELETE", "/models", 405),
        ("GET", "/models/", 404),
        ("OPTIONS", CHAT, 405),
    ],
)
def test_other_paths_and_methods(client: httpx.Client, method: str, path: str, status: int) -> None:
    response = client.request(method, path)
    assert response.status_code == status
    error_of(response)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"\xff", b"nul", b'{"messages": ' + b"[" * 100_000, b"NaN", b'"\\ud800"'],
)
def test_bodies_that_are_no_request(client: httpx.Client, body: bytes) -> None:
    response = client.post(CHAT, content=body)
    assert response.status_code == 400
    error_of(response)


def test_a_body_that_is_too_large(client: httpx.Client) -> None:
    body = b'{"messages": [{"role": "user", "content": "' + b"a" * 5_000_000
    response = client.post(CHAT, content=body)
    assert response.status_code == 413
    error_of(response)
    response = client.post(CHAT, content=(body[i : i + 65536] for i in range(0, len(body), 65536)))
    assert response.status_code == 413


def test_a_body_that_does_not_come(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.server.app.BODY_TIMEOUT_S", 0.1)
    address = (client.base_url.host, client.base_url.port or 80)
    with socket.create_connection(address, LIMIT_S) as connection:
        connection.sendall(
            b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"
        )
        assert b" 408 " in connection.recv(65536).split(b"\r\n")[0]


def test_who_comes_when_the_queue_is_full_is_told_to_come_again() -> None:
    go_on = threading.Event()

    def held(asked: Asked) -> Iterator[Event]:
        yield TextDelta("held")
        go_on.wait(LIMIT_S)
        yield finished(text="held")

    body = user("?") | {"stream": True}
    with serving(Scripted(held), queue_limit=1, heartbeat_s=0.02) as client:
        with client.stream("POST", CHAT, json=body) as first:
            next(first.iter_lines())
            with client.stream("POST", CHAT, json=body) as second:
                lines = second.iter_lines()
                assert next(lines) == ": waiting: 1 before this one"
                response = client.post(CHAT, json=user("?") | {"user": "another"})
                assert response.status_code == 503
                assert int(response.headers["retry-after"]) > 0
                assert error_of(response)["code"] == "queue_full"
                assert client.get("/models").status_code == 200
                go_on.set()
                assert "data: [DONE]" in lines
        assert client.post(CHAT, json=user("?")).status_code == 200


def test_another_model_is_not_here(client: httpx.Client) -> None:
    response = client.post(CHAT, json=user("?") | {"model": "gpt-4o"})
    assert response.status_code == 404
    assert error_of(response)["code"] == "model_not_found"
    assert NAME in error_of(response)["message"]
