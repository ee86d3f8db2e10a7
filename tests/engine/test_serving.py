"""The engine process as a server: its programs and the application take turns."""

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

import engine.server.extra
from engine import protocol as wire
from engine.server.served import ServedModel
from engine.server.server import HttpSide
from engine.server.settings import ServerSettings
from engine.serving import Serving
from tests.engine.peer import LIMIT_S, Peer, ask
from tests.engine.server.scripted import Scripted

ANY_PORT = wire.Serve("127.0.0.1", 0)
KEY = "sk-very-secret"
Start = Callable[..., Peer]


def question(text: str = "hi", **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], **fields}


@contextlib.contextmanager
def client_of(peer: Peer, command: wire.Serve = ANY_PORT) -> Iterator[httpx.Client]:
    peer.send(command)
    headers = {"Authorization": f"Bearer {command.api_key}"} if command.api_key else {}
    with httpx.Client(
        base_url=peer.hear(wire.Serving).url, timeout=LIMIT_S, trust_env=False, headers=headers
    ) as client:
        yield client


def content(answer: httpx.Response) -> str:
    text: str = answer.json()["choices"][0]["message"]["content"]
    return text


def test_a_program_is_answered_and_that_is_told(start: Start) -> None:
    peer = start(answers=[{"text": "You said {echo}."}])
    with client_of(peer) as client:
        peer.send(wire.Load("/models/m"))
        peer.hear(wire.Loaded)
        assert [model["id"] for model in client.get("/models").json()["data"]] == ["m"]
        answer = client.post("/chat/completions", json=question("so"))
        assert content(answer) == "You said so."
    assert peer.hear(wire.Served) == wire.Served(answering=True, waiting=0)
    assert peer.hear(wire.Served) == wire.Served(answering=False, waiting=0)


def test_without_a_model_programs_are_told_to_ask_again(start: Start) -> None:
    peer = start()
    with client_of(peer) as client:
        for path in ("/chat/completions", "/completions"):
            refused = client.post(path, json=question())
            assert refused.status_code == 503
            assert refused.json()["error"]["code"] == "model_not_loaded"
            assert int(refused.headers["retry-after"]) > 0
        assert client.get(str(client.base_url).replace("/v1/", "/health")).status_code == 503
        assert client.get("/models").json()["data"] == []
        assert client.get("/models/m").status_code == 404
        peer.send(wire.Expect("m"), wire.CountTokens("c", ()))
        peer.hear(wire.TokensCounted)
        assert [model["id"] for model in client.get("/models").json()["data"]] == ["m"]
        assert client.get("/models/m").json()["id"] == "m"
        peer.send(wire.Load("/m"))
        peer.hear(wire.Loaded)
        assert client.post("/chat/completions", json=question()).status_code == 200
        peer.send(wire.Unload())
        peer.hear(wire.Unloaded)
        assert client.post("/chat/completions", json=question()).status_code == 503


def test_a_model_is_wanted_by_those_who_ask_and_by_no_one_who_looks() -> None:
    told: list[wire.Event] = []
    serving = Serving(told.append, lambda: None)
    serving.start(ANY_PORT)
    assert isinstance(told[0], wire.Serving)
    with httpx.Client(base_url=told[0].url, trust_env=False, timeout=LIMIT_S) as client:
        client.get("/models")
        client.get(told[0].url.replace("/v1", "/health"))
        assert len(told) == 1
        for _ in range(3):
            client.post("/chat/completions", json=question())
        assert told[1:] == [wire.ModelWanted()], "once in a while"
    serving.close()


def test_while_a_model_is_loaded_programs_hear_it_at_once(start: Start) -> None:
    peer = start(load={"delay_s": 2 * LIMIT_S})
    with client_of(peer) as client:
        peer.send(wire.Load("/m"))
        peer.hear(wire.Loading)
        assert client.post("/chat/completions", json=question()).status_code == 503


def test_the_application_and_programs_take_turns(start: Start) -> None:
    """However many programs wait, the application's question is the next."""
    slow = {"match": "slow", "text": ["a"] * 10_000, "delay_s": 0.01}
    peer = start(answers=[slow, {"match": "quick", "text": "q"}, {"match": "own", "text": "o"}])
    ended: list[str] = []
    with client_of(peer) as client:
        peer.send(wire.Load("/m"), ask("first", "slow"))
        peer.hear(wire.Text)

        def post(name: str) -> None:
            client.post("/chat/completions", json=question("quick", user=name))
            ended.append(name)

        threads = [threading.Thread(target=post, args=(str(i),)) for i in range(4)]
        for thread in threads:
            thread.start()
        peer.send(wire.Cancel("first"))
        assert peer.hear(wire.Finished).id == "first"
        peer.send(ask("own", "own"))
        assert peer.hear(wire.Finished).id == "own"
        for thread in threads:
            thread.join(LIMIT_S)
    assert sorted(ended) == ["0", "1", "2", "3"]


def test_a_question_that_waits_for_a_program_is_cancelled_at_once(
    start: Start,
) -> None:
    peer = start(answers=[{"text": ["a"] * 100_000, "delay_s": 0.01}])
    with client_of(peer) as client:
        peer.send(wire.Load("/m"))
        peer.hear(wire.Loaded)
        with client.stream("POST", "/chat/completions", json=question(stream=True)) as answer:
            lines = answer.iter_lines()
            next(lines)
            peer.send(ask("1"), wire.Cancel("1"))
            finished = peer.hear(wire.Finished)
            assert next(lines) is not None, "the program is still being answered"
    assert (finished.id, finished.reason) == ("1", "cancelled")


def test_a_program_that_goes_away_frees_the_engine(start: Start) -> None:
    peer = start(
        answers=[
            {"match": "long", "text": ["a"] * 100_000, "delay_s": 0.01},
            {"match": "hi", "text": "b"},
        ]
    )
    with client_of(peer) as client:
        peer.send(wire.Load("/m"))
        peer.hear(wire.Loaded)
        with client.stream("POST", "/chat/completions", json=question("long", stream=True)) as a:
            next(a.iter_lines())
        peer.send(ask("1"))
        assert peer.hear(wire.Finished).id == "1"


def test_an_answer_for_a_program_waits_for_memory_too(start: Start) -> None:
    peer = start(paused="Memory is critically short.", answers=[{"text": "a b c"}])
    with client_of(peer) as client:
        peer.send(wire.Load("/m"))
        peer.hear(wire.Loaded)
        with client.stream("POST", "/chat/completions", json=question(stream=True)) as answer:
            while not peer.hear(wire.EngineStats).paused:
                pass
            peer.send(wire.Continue())
            assert "[DONE]" in "\n".join(answer.iter_lines())


CHANGES = [wire.StopServing(), wire.Unload(), wire.Load("/other"), ANY_PORT, wire.Quit()]


@pytest.mark.parametrize("command", CHANGES, ids=lambda command: type(command).__name__)
def test_a_change_breaks_off_what_programs_wait_for(
    start: Start,
    command: wire.Command,
) -> None:
    """A stream ends with an error, and who waits is told a status; nothing looks done."""
    peer = start(answers=[{"text": ["a"] * 100_000, "delay_s": 0.01}])
    with client_of(peer) as client:
        peer.send(wire.Load("/m"))
        peer.hear(wire.Loaded)
        with client.stream("POST", "/chat/completions", json=question(stream=True)) as answer:
            lines = answer.iter_lines()
            next(lines)
            refused: list[httpx.Response] = []
            waiting = threading.Thread(
                target=lambda: refused.append(client.post("/chat/completions", json=question()))
            )
            waiting.start()
            while not peer.hear(wire.Served).waiting:
                pass
            peer.send(command)
            rest = "\n".join(lines)
        waiting.join(LIMIT_S)
    assert '"code":"stopping"' in rest
    assert "[DONE]" not in rest
    assert [response.status_code for response in refused] == [503]


def test_it_stops_and_starts_at_another_address(start: Start) -> None:
    peer = start()
    with client_of(peer) as client:
        peer.send(wire.Load("/m"))
        peer.hear(wire.Loaded)
        peer.send(wire.StopServing())
        assert peer.hear(wire.NotServing) == wire.NotServing()
        with pytest.raises(httpx.ConnectError):
            client.get("/models")
    with client_of(peer, wire.Serve("127.0.0.1", 0, KEY)) as client:
        assert client.post("/chat/completions", json=question()).status_code == 200
        client.headers.pop("Authorization")
        assert client.get("/models").status_code == 401
    with client_of(peer) as client:
        assert client.get("/models").status_code == 200


def test_it_is_switched_off_while_the_application_is_answered(start: Start) -> None:
    peer = start(answers=[{"text": ["a"] * 100_000, "delay_s": 0.01}])
    with client_of(peer):
        peer.send(wire.Load("/m"), ask("1"))
        peer.hear(wire.Text)
        peer.send(wire.StopServing())
        assert peer.hear(wire.NotServing) == wire.NotServing()
        assert peer.hear(wire.Text).id == "1"


def test_a_port_in_use_is_told_with_a_remedy(start: Start) -> None:
    peer = start()
    with socket.create_server(("127.0.0.1", 0)) as other:
        peer.send(wire.Serve("127.0.0.1", other.getsockname()[1]))
        told = peer.hear(wire.NotServing)
    assert f"port {other.getsockname()[1]}" in told.message if other.fileno() > 0 else told.message
    assert "Choose another port" in told.remedy


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (wire.Serve("0.0.0.0", 0), "can be reached"),
        (wire.Serve("127.0.0.1", 70_000), "70000"),
        (wire.Serve("127.0.0.1", 0, "two words"), "key"),
        (wire.Serve("no such host", 0, KEY), "no such host"),
    ],
)
def test_what_cannot_be_served_is_told(
    start: Start,
    command: wire.Serve,
    words: str,
) -> None:
    peer = start()
    peer.send(command)
    told = peer.hear(wire.NotServing)
    assert words in told.message
    assert told.remedy
    assert "two words" not in told.message + told.remedy


def test_the_key_is_in_no_log_and_in_no_command_line(start: Start) -> None:
    peer = start(answers=[{"bug_at": 0, "text": "a"}])
    with client_of(peer, wire.Serve("127.0.0.1", 0, KEY)) as client:
        peer.send(wire.Load("/m"))
        peer.hear(wire.Loaded)
        assert client.post("/chat/completions", json=question()).status_code == 500
        assert client.post("/chat/completions", content=b"\xff").status_code == 400
        wrong = {"Authorization": f"Bearer {KEY}x"}
        assert client.get("/models", headers=wrong).status_code == 401
        if Path("/proc").is_dir():
            process = Path(f"/proc/{peer.process.pid}")
            assert KEY.encode() not in (process / "cmdline").read_bytes()
            assert KEY.encode() not in (process / "environ").read_bytes()
    peer.end()
    assert peer.process.stderr
    log = peer.process.stderr.read()
    assert b"a scripted bug" in log
    assert KEY.encode() not in log


def test_nothing_of_the_server_is_imported_before_it_is_wanted() -> None:
    code = "import sys, engine.host; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"starlette", "uvicorn", "mlx", "asyncio"}


def test_without_the_extra_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.server.extra, "PACKAGES", ("no_such_package",))
    told: list[wire.Event] = []
    Serving(told.append, lambda: None).start(ANY_PORT)
    assert len(told) == 1
    assert isinstance(told[0], wire.NotServing)
    assert "no_such_package" in told[0].message
    assert "martlet[server]" in told[0].remedy


def test_when_http_ends_by_itself_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)

    async def fail(*_: Any, **__: Any) -> None:
        raise OSError("no more descriptors")

    def start_and_end(http: HttpSide) -> None:
        start(http)
        http.join(LIMIT_S)

    start = HttpSide.start
    monkeypatch.setattr(HttpSide, "start", start_and_end)  # it fails at once
    monkeypatch.setattr("uvicorn.Server.startup", fail)
    told: list[wire.Event] = []
    serving = Serving(told.append, lambda: None)
    serving.start(ANY_PORT)
    assert isinstance(told[0], wire.Serving)
    assert "by itself" in told[-1].message  # type: ignore[union-attr]
    serving.stop()
    assert told[-1] == wire.NotServing()


def test_who_waits_sees_the_application_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.serving.ServerSettings", partial(ServerSettings, heartbeat_s=0.02))
    told: list[wire.Event] = []
    serving = Serving(told.append, lambda: None)
    serving.offer(ServedModel("m", 4096, Scripted(), list))
    serving.start(ANY_PORT)
    assert isinstance(told[0], wire.Serving)
    with (
        serving.engaged(),
        httpx.stream(
            "POST",
            told[0].url + "/chat/completions",
            json=question(stream=True),
            trust_env=False,
            timeout=LIMIT_S,
        ) as answer,
    ):
        assert next(answer.iter_lines()) == ": waiting: 1 before this one"
    serving.close()
