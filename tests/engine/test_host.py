"""The engine process with a scripted engine: commands in, events out, and how it ends."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine import protocol as wire
from tests.engine.peer import FAKE_ENGINE, LIMIT_S, Peer, ask


def test_a_conversation(start: Callable[..., Peer]) -> None:
    peer = start(answers=[{"prefill": [10, 2, 0], "reasoning": ["h", "m"], "text": "a {echo}"}])
    assert peer.hear(wire.Ready).pid == peer.process.pid
    peer.send(wire.Load("/models/m"))
    assert peer.hear(wire.Loading).phase == "dense"
    assert peer.hear(wire.Loaded).model.path == "/models/m"
    peer.send(ask("1"))
    assert [peer.hear(wire.Prefill).done for _ in range(2)] == [5, 10]
    assert [peer.hear(wire.Reasoning).text for _ in range(2)] == ["h", "m"]
    assert [peer.hear(wire.Text).text for _ in range(2)] == ["a ", "hi"]
    finished = peer.hear(wire.Finished)
    assert (finished.id, finished.reason, finished.stats.generated_tokens) == ("1", "stop", 4)
    peer.send(wire.Quit())
    assert peer.process.wait(LIMIT_S) == 0


def test_cancel_arrives_while_it_answers_and_while_it_reads(start: Callable[..., Peer]) -> None:
    slow = {"prefill": [1000, 100, 60], "text": "never"}
    peer = start(answers=[{"text": ["a"] * 1000, "delay_s": 0.01}, slow])
    peer.send(wire.Load("/m"), ask("1"))
    peer.hear(wire.Text)
    peer.send(wire.Cancel("1"))
    assert peer.hear(wire.Finished).reason == "cancelled"
    peer.send(ask("2"), wire.Cancel("2"))
    assert peer.hear(wire.Finished).id == "2"


def test_quick_commands_are_answered_between_tokens(start: Callable[..., Peer]) -> None:
    peer = start(answers=[{"text": ["a"] * 10_000, "delay_s": 0.01}])
    peer.send(wire.Load("/m"), ask("1"))
    peer.hear(wire.Text)
    peer.send(wire.CountTokens("c", (wire.ChatMessage("user", "one two"),)), wire.Resize(10**9))
    assert peer.hear(wire.TokensCounted) == wire.TokensCounted("c", 2)
    assert peer.hear(wire.MemoryChanged).plan.budget_bytes == 10**9
    assert peer.hear(wire.EngineStats).hit_rate == pytest.approx(0.71)


def test_a_plan_needs_no_model_and_does_not_wait_for_an_answer(start: Callable[..., Peer]) -> None:
    peer = start(answers=[{"text": ["a"] * 2000, "delay_s": 0.005}])
    peer.send(wire.Plan("/models/m", 90_000_000))
    planned = peer.hear(wire.Planned)
    assert (planned.path, planned.memory_bytes) == ("/models/m", 90_000_000)
    assert planned.ledger is not None
    assert planned.ledger.total_bytes == 90_000_000
    peer.send(wire.Load("/models/m"), ask("1"))
    peer.hear(wire.Text)
    peer.send(wire.Plan("/models/other"))
    assert peer.hear(wire.Planned).path == "/models/other"
    peer.send(wire.Cancel("1"))
    assert peer.hear(wire.Finished).reason == "cancelled"


def test_the_kernels_are_told_with_the_model(start: Callable[..., Peer]) -> None:
    peer = start()
    peer.send(wire.Load("/m"), wire.Load("/m", plain=True))
    kinds = [loaded.kernels.kind for _ in range(2) if (loaded := peer.hear(wire.Loaded)).kernels]
    assert kinds == ["native", "plain"]


def test_errors_and_bugs_end_one_answer_and_nothing_else(start: Callable[..., Peer]) -> None:
    error = {"kind": "ContextFull", "message": "Too long.", "remedy": "Shorten it."}
    peer = start(
        answers=[
            {"text": "a b", "error_at": 1, "error": error},
            {"text": "a", "bug_at": 0},
            {"text": "fine"},
        ]
    )
    peer.send(wire.Load("/m"), ask("1"), ask("2"), ask("3"))
    assert peer.hear(wire.Failed) == wire.Failed("1", "ContextFull", "Too long.", "Shorten it.")
    bug = peer.hear(wire.Bug)
    assert bug.id == "2"
    assert "a scripted bug" in bug.traceback
    assert peer.hear(wire.Finished).id == "3"


def test_a_load_that_fails_leaves_no_model(start: Callable[..., Peer]) -> None:
    error = {"kind": "NotEnoughMemory", "message": "No.", "remedy": "Close apps."}
    peer = start(load={"error": error})
    peer.send(wire.Load("/m"), ask("1"))
    assert peer.hear(wire.Failed) == wire.Failed(None, "NotEnoughMemory", "No.", "Close apps.")
    assert peer.hear(wire.Failed) == wire.Failed(
        "1", "MartletError", "No model is loaded.", "Load one first."
    )


def test_unload(start: Callable[..., Peer]) -> None:
    peer = start()
    peer.send(wire.Load("/m"), wire.Unload(), wire.CountTokens("c", ()), wire.Stats())
    peer.hear(wire.Unloaded)
    assert peer.hear(wire.TokensCounted).count is None
    assert peer.end() == 0


def test_lines_that_make_no_sense_are_told_and_skipped(start: Callable[..., Peer]) -> None:
    peer = start()
    assert peer.process.stdin
    peer.process.stdin.write(b'nonsense\n{"type":"Load"}\n')
    peer.process.stdin.write(b'{"type":"Generate","id":"g","messages":[],"options":{"top_p":2}}\n')
    peer.send(wire.Load("/m"))
    assert "not JSON" in peer.hear(wire.Bug).traceback
    assert "path is missing" in peer.hear(wire.Bug).traceback
    assert peer.hear(wire.Failed).kind == "BadOption"
    peer.hear(wire.Loaded)


@pytest.mark.parametrize(
    "answer",
    [
        {"text": ["a"] * 10_000, "delay_s": 0.01},
        {"prefill": [1000, 10, 3600], "text": "a"},
        {"text": "a", "stall_at": 0},  # deaf, as in a read that hangs
    ],
    ids=["answering", "reading", "stuck"],
)
def test_it_ends_when_its_input_does(start: Callable[..., Peer], answer: dict[str, Any]) -> None:
    peer = start(answers=[answer])
    peer.send(wire.Load("/m"), ask("1"))
    peer.hear(wire.Loaded)
    assert peer.end() == 0


def test_it_ends_when_nobody_reads_its_events(start: Callable[..., Peer]) -> None:
    peer = start(answers=[{"text": ["a" * 1000] * 10_000}])
    peer.send(wire.Load("/m"), ask("1"))
    peer.hear(wire.Text)
    assert peer.process.stdout
    peer.process.stdout.close()
    assert peer.process.wait(LIMIT_S) == 0


def test_no_process_outlives_a_killed_application(tmp_path: Path) -> None:
    """A parent that is killed closes its end of the pipe, whatever it was doing."""
    script = tmp_path / "script.json"
    script.write_text('{"answers": [{"text": "a", "stall_at": 0}]}')
    command = [sys.executable, "-c", _PARENT, FAKE_ENGINE, script]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        engine = int(parent.stdout.readline())
        parent.kill()
    _wait_until_gone(engine)


_PARENT = """
import subprocess, sys, time
engine = subprocess.Popen([sys.executable, *sys.argv[1:]], stdin=subprocess.PIPE)
print(engine.pid, flush=True)
time.sleep(600)
"""


def _wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{pid}/stat").exists() and _is_zombie(pid):
            return  # nobody waits for it in this container
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    raise AssertionError("the engine outlived the application")


def _is_zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"


def test_prints_do_not_reach_the_protocol(tmp_path: Path) -> None:
    code = (
        "import os\nfrom engine import host\n"
        "def load(command, progress):\n"
        "    print('stray'); os.write(1, b'stray\\n'); raise MemoryError\n"
        "host.serve(load)\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", code],
        input=wire.encode(wire.Load("/m")) + wire.encode(wire.Cancel("x")),
        capture_output=True,
        timeout=LIMIT_S,
        check=True,
    )
    kinds = [type(wire.decode_event(line)) for line in process.stdout.splitlines(keepends=True)]
    assert set(kinds) <= {wire.Ready, wire.Bug}
    assert process.stderr.count(b"stray") in (0, 2)  # the input's end may come before the load


def test_a_paused_answer_waits_until_it_is_told_to_go_on(start: Callable[..., Peer]) -> None:
    paused = start(paused="Memory is critically short.", answers=[{"text": "a b c"}])
    paused.send(wire.Load("/m"), ask("1"))
    paused.hear(wire.Prefill)
    assert paused.hear(wire.EngineStats).paused == "Memory is critically short."
    paused.send(wire.Continue())
    assert paused.hear(wire.Finished).reason == "stop"


def test_a_paused_answer_is_cancelled_at_once(start: Callable[..., Peer]) -> None:
    paused = start(paused="Memory is critically short.", answers=[{"text": "a b c"}])
    paused.send(wire.Load("/m"), ask("1"))
    paused.hear(wire.Prefill)
    paused.send(wire.Cancel("1"))
    assert paused.hear(wire.Finished).reason == "cancelled"
