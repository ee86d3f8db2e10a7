"""One life of the engine process, however it ends: no zombie, no thread, no blocked writer."""

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.engine_process import EngineProcess, ProcessEnded
from engine import protocol as wire
from engine.options import GenerationOptions
from tests.app.conftest import Script

LIMIT_S = 30


class Life:
    """A process, and all that it delivered."""

    def __init__(self, command: list[str]) -> None:
        self.events: list[wire.Event | ProcessEnded] = []
        self._changed = threading.Condition()
        self.process = EngineProcess(command, self._deliver)

    def _deliver(self, process: EngineProcess, event: wire.Event | ProcessEnded) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify()

    def wait_for(self, kind: type[Any]) -> Any:
        """The first event of this kind."""

        def found() -> list[Any]:
            return [event for event in self.events if isinstance(event, kind)]

        with self._changed:
            assert self._changed.wait_for(found, LIMIT_S), f"no {kind.__name__}"
            return found()[0]


@pytest.fixture
def live(engine_command: Callable[[Script], list[str]]) -> Callable[..., Life]:
    def start(**script: Any) -> Life:
        return Life(engine_command(script))

    return start


def ask(text: str = "hi") -> wire.Generate:
    return wire.Generate("g", (wire.ChatMessage("user", text),), GenerationOptions())


def assert_gone(pid: int) -> None:
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_asked_end(live: Callable[..., Life]) -> None:
    life = live()
    pid = life.wait_for(wire.Ready).pid
    life.process.end()
    ended = life.wait_for(ProcessEnded)
    assert (ended.code, ended.asked) == (0, True)
    assert_gone(pid)
    life.process.join()
    life.process.send(wire.Stats())  # lost without a word


def test_a_long_conversation_does_not_block_the_sender(live: Callable[..., Life]) -> None:
    life = live(answers=[{"text": ["ok"]}])
    life.process.send(wire.Load("/m"))
    life.process.send(ask("x" * 5_000_000))
    assert life.wait_for(wire.Finished).reason == "stop"
    life.process.end()
    life.process.join()


def test_a_death_is_told_after_all_it_said(live: Callable[..., Life]) -> None:
    life = live(answers=[{"text": "a b c", "crash_at": 2}])
    life.process.send(wire.Load("/m"))
    life.process.send(ask())
    ended = life.wait_for(ProcessEnded)
    assert (ended.code, ended.asked) == (-signal.SIGABRT, False)
    assert "Fatal Python error: Aborted" in ended.log_tail
    texts = [event.text for event in life.events if isinstance(event, wire.Text)]
    assert texts == ["a ", "b "]
    assert life.events[-1] is ended
    life.process.join()


def test_a_kill_from_outside(live: Callable[..., Life]) -> None:
    life = live()
    os.kill(life.wait_for(wire.Ready).pid, signal.SIGKILL)
    assert life.wait_for(ProcessEnded).code == -signal.SIGKILL
    life.process.join()


def test_a_process_that_does_not_listen_is_killed(live: Callable[..., Life]) -> None:
    life = live(answers=[{"text": "a", "stall_at": 0}])
    life.process.send(wire.Load("/m"))
    life.process.send(ask())
    pid = life.wait_for(wire.Prefill) and life.wait_for(wire.Ready).pid
    os.kill(pid, signal.SIGSTOP)
    life.process.send(ask("x" * 5_000_000))  # the writer is stuck in the pipe
    life.process.kill()
    ended = life.wait_for(ProcessEnded)
    assert (ended.code, ended.asked) == (-signal.SIGKILL, True)
    life.process.join()


def test_join_kills_what_does_not_end(
    live: Callable[..., Life], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.engine_process.END_WITHIN_S", 0.2)
    life = live()
    os.kill(life.wait_for(wire.Ready).pid, signal.SIGSTOP)
    life.process.end()
    life.process.join()
    assert life.wait_for(ProcessEnded).asked


def test_a_program_that_is_not_there_is_an_end_too(tmp_path: Path) -> None:
    life = Life([str(tmp_path / "nothing")])
    ended = life.wait_for(ProcessEnded)
    assert ended.code is None
    assert "No such file" in ended.log_tail
    life.process.join()


def test_nonsense_is_skipped() -> None:
    code = "print('nonsense'); print('{\"type\":\"Unloaded\"}'); print('{\"type\":\"Unl', end='')"
    life = Life([sys.executable, "-c", code])
    ended = life.wait_for(ProcessEnded)
    assert life.events == [wire.Unloaded(), ended]
    assert ended.code == 0
    life.process.join()
