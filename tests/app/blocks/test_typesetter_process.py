"""The typesetting process: fair, unimpressed by what a model wrote, gone when its input closes."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest

from app.blocks import typesetter_process
from app.blocks.drawing import Span
from app.blocks.typesetter_process import serve

ROOT = Path(__file__).parents[3]


def _queue(*requests: dict[str, object]) -> "SimpleQueue[str | None]":
    queue: SimpleQueue[str | None] = SimpleQueue()
    for request in requests:
        queue.put(json.dumps(request))
    return queue


def test_a_short_piece_need_not_wait_for_a_long_one() -> None:
    replies = serve(
        _queue(
            {"id": 1, "code": "x\n" * 1000, "language": "python"},
            {"id": 2, "code": "y\n", "language": "python"},
        )
    )
    assert [next(replies)["id"] for _ in range(4)] == [1, 2, 1, 2]


def test_a_job_that_raises_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typesetter_process, "highlight", lambda code, language: iter([1 / 0]))
    assert next(serve(_queue({"id": 7, "code": "", "language": ""}))) == {"id": 7}


def test_a_step_that_computes_for_ever_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def astray(code: str, language: str) -> Iterator[list[Span]]:
        while True:
            pass
        yield []

    monkeypatch.setattr(typesetter_process, "highlight", astray)
    monkeypatch.setattr(typesetter_process, "STEP_S", 0.05)
    before = signal.signal(signal.SIGVTALRM, typesetter_process._too_long)
    try:
        assert next(serve(_queue({"id": 7, "code": "", "language": ""}))) == {"id": 7}
    finally:
        signal.signal(signal.SIGVTALRM, before)


def test_it_ends_when_its_input_closes() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "app.blocks.typesetter_process"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        process.stdin.write(b'{"id": 1, "code": "x", "language": "nope"}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == {"id": 1}
        process.stdin.close()
        assert process.wait(timeout=60) == 0
