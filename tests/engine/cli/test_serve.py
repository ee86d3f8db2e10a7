"""`martlet serve`: from the options to an answer, and to the end."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

import engine.cli.serve
import engine.server.extra
from engine.cli import main, parser
from engine.cli.serve import KEY_VARIABLE, server_settings
from engine.errors import BadOption
from engine.protocol import MemoryChanged, MemoryPlan
from engine.server.settings import ServerSettings

LOADING_S = 500.0  # the native core may have to be compiled first
pytestmark = pytest.mark.timeout(600)


def settings(*options: str) -> ServerSettings:
    return server_settings(parser().parse_args(["serve", "demo", *options]))


def test_options_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings().host == "127.0.0.1"
    assert settings().api_key is None
    monkeypatch.setenv(KEY_VARIABLE, "from-environment")
    assert settings("--host", "0.0.0.0").api_key == "from-environment"
    options = ("--port", "99", "--queue", "3", "--api-key", "mine")
    pages = ("--allow-origin", "https://a.example", "--allow-origin", "https://b.example")
    chosen = settings(*options, *pages, "--allow-host", "den.local")
    assert (chosen.port, chosen.queue_limit, chosen.api_key) == (99, 3, "mine")
    assert chosen.allowed_origins == ("https://a.example", "https://b.example")
    assert chosen.allowed_hosts == ("den.local",)
    monkeypatch.delenv(KEY_VARIABLE)
    with pytest.raises(BadOption, match="--api-key"):
        settings("--host", "0.0.0.0")


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["demo", "--host", "0.0.0.0"], 2, "--api-key"),
        (["demo", "--host", "no such host", "--api-key", "k"], 2, "Give an address"),
        (["demo", "--host", "a" * 300, "--api-key", "k"], 2, "Give an address"),
        (["demo", "--port", "0", "--memory", "lots"], 2, "'lots' is not a size"),
        (["no-such-model", "--port", "0"], 3, "no-such-model"),
    ],
)
def test_faults_are_one_line(
    options: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *options]) == code
    _, err = capsys.readouterr()
    assert words in err
    assert err.count("\n") == 1


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert main(["serve", "demo", "--port", str(port)]) == 1
    assert f"port {port}" in capsys.readouterr().err


def test_without_the_extra_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(engine.server.extra, "PACKAGES", ("no_such_package",))
    assert main(["serve", "demo"]) == 1
    assert "Install martlet[server]" in capsys.readouterr().err


class Tended:
    """A model that is short of memory for some looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    @property
    def paused(self) -> str:
        return "Memory is short." if self.looks > 0 else ""

    def tend(self) -> list[MemoryChanged]:
        self.looks -= 1
        plan = MemoryPlan(1, 1, 1, 1, 1, 1)
        return [MemoryChanged("normal", "There is room again.", plan)] if self.looks == 0 else []


def test_an_answer_waits_for_memory_and_what_is_done_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(engine.cli.serve, "PAUSE_LOOK_S", 0.001)
    model, gone = Tended(3), threading.Event()
    engine.cli.serve._wait(model, gone)  # type: ignore[arg-type]
    assert model.looks == 0
    assert "There is room again." in capsys.readouterr().err
    gone.set()
    engine.cli.serve._wait(Tended(10**9), gone)  # type: ignore[arg-type]


@contextmanager
def running(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in a process of its own, and the URL that it says."""
    command = [sys.executable, "-m", "engine.cli", "serve", "demo", "--port", "0", *options]
    environment = {**os.environ, KEY_VARIABLE: "sk-secret"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stderr
            said = process.stderr.readline()
            url = re.search(r"http://\S+/v1", said)
            assert url, said
            yield process, url[0]
        finally:
            process.kill()


def test_an_interrupt_breaks_off_what_is_written() -> None:
    """It does not look done."""
    body = {
        "messages": [{"role": "user", "content": "Tell me a story about a brave mouse."}],
        "logit_bias": {"0": -100, "2": -100},  # no end of its own
        "stream": True,
    }
    with running() as (process, url):
        assert httpx.get(f"{url}/models", trust_env=False).status_code == 401
        with httpx.stream(
            "POST",
            f"{url}/chat/completions",
            json=body,
            headers={"Authorization": "Bearer sk-secret"},
            timeout=LOADING_S,
            trust_env=False,
        ) as response:
            lines = response.iter_lines()
            assert any("assistant" in line for line in lines)
            process.send_signal(signal.SIGINT)
            rest = "\n".join(lines)
        assert "The server is stopping" in rest
        assert "[DONE]" not in rest
        assert process.wait(LOADING_S) == 0
        assert process.stderr
        log = process.stderr.read()
    assert "prompt tokens" in log
    assert "Traceback" not in log
    assert "sk-secret" not in log


def test_an_idle_server_ends_when_it_is_told_to() -> None:
    with running() as (process, url):
        assert httpx.get(url.replace("/v1", "/health"), trust_env=False).status_code == 200
        process.terminate()
        assert process.wait(LOADING_S) == 0
