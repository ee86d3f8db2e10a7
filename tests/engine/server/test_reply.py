"""Streams as clients meet them: heartbeats, characters, who leaves, and servers that end."""

import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress

import httpx
import pytest

from engine.events import Event, PrefillProgress, TextDelta
from tests.engine.server.scripted import (
    CHAT,
    LIMIT_S,
    Asked,
    Scripted,
    finished,
    saying,
    serving,
    user,
)


def raw_request(client: httpx.Client, body: dict[str, object]) -> tuple[socket.socket, bytes]:
    """A connection to the server and the bytes of a request, not sent yet."""
    url = client.base_url
    data = json.dumps(body).encode()
    head = (
        f"POST {url.path.rstrip('/')}{CHAT} HTTP/1.1\r\nHost: {url.host}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    connection = socket.create_connection((url.host, url.port or 80), LIMIT_S)
    return connection, head.encode() + data


def endless(asked: Asked) -> Iterator[Event]:
    """An answer that goes on until it is broken off."""
    for done in range(20):
        yield PrefillProgress(done, 20, 0)
        time.sleep(0.0005)
    while not asked.cancelled():
        yield TextDelta("and ")
        time.sleep(0.0005)
    yield finished("cancelled")


def test_a_stream_shows_that_it_lives_while_the_prompt_is_read() -> None:
    go_on = threading.Event()

    def script(asked: Asked) -> Iterator[Event]:
        yield PrefillProgress(512, 2048, 0)
        go_on.wait(LIMIT_S)
        yield TextDelta("read")
        yield finished()

    with (
        serving(Scripted(script), heartbeat_s=0.02) as client,
        client.stream("POST", CHAT, json=user("?") | {"stream": True}) as response,
    ):
        lines = response.iter_lines()
        comment = next(line for line in lines if line.startswith(": reading"))
        go_on.set()
        rest = [line for line in lines if line.startswith("data: ")]
    assert comment == ": reading the prompt: 512 of 2048 tokens"
    assert json.loads(rest[0].removeprefix("data: "))["choices"][0]["delta"]["role"] == "assistant"
    assert rest[-1] == "data: [DONE]"


def test_a_stream_shows_that_it_lives_while_it_waits() -> None:
    go_on = threading.Event()

    def script(asked: Asked) -> Iterator[Event]:
        go_on.wait(LIMIT_S)
        yield from saying("done")(asked)

    body = user("?") | {"stream": True}
    with (
        serving(Scripted(script), heartbeat_s=0.02) as client,
        client.stream("POST", CHAT, json=body) as first,
        client.stream("POST", CHAT, json=body) as second,
    ):
        assert next(first.iter_lines()) == ": waiting"
        lines = second.iter_lines()
        assert next(lines) == ": waiting: 1 before this one"
        go_on.set()
        assert "data: [DONE]" in list(lines)


def test_a_failure_after_a_heartbeat_is_an_event() -> None:
    go_on = threading.Event()

    def script(asked: Asked) -> Iterator[Event]:
        go_on.wait(LIMIT_S)
        raise ValueError("a bug")
        yield

    with (
        serving(Scripted(script), heartbeat_s=0.02) as client,
        client.stream("POST", CHAT, json=user("?") | {"stream": True}) as response,
    ):
        lines = response.iter_lines()
        next(lines)
        go_on.set()
        data = [line for line in lines if line.startswith("data: ")]
    assert len(data) == 1
    assert json.loads(data[0].removeprefix("data: "))["error"]["type"] == "server_error"


TEXT = "👩‍👩‍👧‍👦🇩🇪 日本語 é e\u0301 שָׁלוֹם 👍🏽 \x85\u2028\u2029 \r\n \x00 done"


def test_every_character_arrives_whole(client: httpx.Client, session: Scripted) -> None:
    session.script = saying(*TEXT)
    body = user("?") | {"stream": True}
    with client.stream("POST", CHAT, json=body) as response:
        lines = [line for line in response.iter_lines() if line]
    assert lines.pop() == "data: [DONE]"
    told = [json.loads(line.removeprefix("data: ")) for line in lines]
    deltas = [chunk["choices"][0]["delta"].get("content", "") for chunk in told]
    assert "".join(deltas) == TEXT
    assert client.post(CHAT, json=user("?")).json()["choices"][0]["message"]["content"] == TEXT


def test_clients_that_leave_at_any_moment_free_the_engine(
    client: httpx.Client, session: Scripted
) -> None:
    """Answers would never end if nobody broke them off."""
    chance = random.Random(11)
    for i in range(50):
        session.script = endless
        connection, request = raw_request(client, user("?") | {"stream": i % 3 > 0})
        with closing(connection):
            connection.sendall(request[: chance.choice([len(request), chance.randrange(900)])])
            connection.settimeout(chance.choice([0.001, 0.02, 0.1]))
            with suppress(TimeoutError):
                connection.recv(chance.randrange(1, 20_000))
        if i % 5 == 0:
            session.script = saying("right")
            answer = client.post(CHAT, json=user("?")).json()
            assert answer["choices"][0]["message"]["content"] == "right"
    session.script = saying("right")
    assert client.post(CHAT, json=user("?")).status_code == 200
    assert set(session.ends) <= {"cancelled", "stop"}
    assert "cancelled" in session.ends


def test_who_leaves_while_waiting_is_never_answered(
    client: httpx.Client, session: Scripted
) -> None:
    go_on = threading.Event()
    begun = threading.Event()

    def held(asked: Asked) -> Iterator[Event]:
        begun.set()
        go_on.wait(LIMIT_S)
        yield from saying("held")(asked)

    session.script = held
    first, request = raw_request(client, user("first"))
    with closing(first):
        first.sendall(request)
        assert begun.wait(LIMIT_S)
        session.script = saying("never")
        second, request = raw_request(client, user("second"))
        with closing(second):
            second.sendall(request)
            _wait_for(lambda: len(session.asked) == 2)
        _wait_for(lambda: session.asked[1].cancelled())
        go_on.set()
        assert b"held" in b"".join(iter(lambda: first.recv(65536), b""))
    session.script = saying("third")
    assert client.post(CHAT, json=user("?")).json()["choices"][0]["message"]["content"] == "third"
    assert session.ends == ["stop", "stop"]


def _wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.01)


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_that_ends_says_so(stream: bool) -> None:
    """Whoever waits hears of it; what was begun does not look done."""
    session = Scripted(endless)
    told: list[httpx.Response] = []
    with serving(session) as client:
        url, body = f"{client.base_url}{CHAT[1:]}", user("?") | {"stream": stream}

        def ask() -> None:
            told.append(httpx.post(url, json=body, timeout=LIMIT_S, trust_env=False))

        askers = [threading.Thread(target=ask) for _ in range(3)]
        for asker in askers:
            asker.start()
        _wait_for(lambda: len(session.asked) == 3)
    for asker in askers:
        asker.join(LIMIT_S)
    assert len(told) == 3
    assert all("The server is stopping" in response.text for response in told)
    assert not any("[DONE]" in response.text for response in told)
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False)


def test_a_reader_that_stalls_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.server.reply.STALLED_S", 0.2)

    def flood(asked: Asked) -> Iterator[Event]:
        while not asked.cancelled():
            yield TextDelta("a" * 10_000)
            time.sleep(0.001)
        yield finished("cancelled")

    session = Scripted(flood)
    with serving(session) as client:
        connection, request = raw_request(client, user("?") | {"stream": True})
        with closing(connection):
            connection.sendall(request)  # and nothing is ever read
            _wait_for(lambda: session.ends == ["cancelled"])
