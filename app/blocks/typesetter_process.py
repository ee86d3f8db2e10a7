"""The process that sets code and formulas: requests in and replies out, one JSON object a line.

It is a process of its own so that Pygments and ziamath, which are pure Python, never hold the
interpreter of the window, and so that what a model wrote can at worst stop this process. It knows
no Qt, and ends when its input closes.

    {"id": 1, "code": "...", "language": "python"}
        → {"id": 1, "first": 0, "lines": [[[start, length, ink], ...], ...]} ... {"id": 1}
    {"id": 2, "latex": "...", "display": false}
        → {"id": 2, "formula": [svg, width, ascent, descent]}, {"id": 2} where it cannot be drawn
"""

import json
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import astuple
from itertools import islice
from queue import SimpleQueue
from types import FrameType
from typing import Any

from app.blocks.highlight import highlight

STEP_S = 5.0  # of computing, at most, for one step: a model's text can send a lexer astray
LINES = 100  # of code in one reply
LONGEST_CODE = 10_000  # lines; what is longer stays plain from there on

Reply = dict[str, Any]
Job = Iterator[Reply]


def job(request: dict[str, Any]) -> Job:
    """The replies to a request, without the last one, which only bears its id."""
    if "latex" in request:
        from app.blocks.formula import typeset  # half a second: many answers have no formula

        if formula := typeset(request["latex"], display=request["display"]):
            yield {"id": request["id"], "formula": astuple(formula)}
        return
    lines = islice(highlight(request["code"], request["language"]), LONGEST_CODE)
    first = 0
    while some := list(islice(lines, LINES)):
        yield {"id": request["id"], "first": first, "lines": some}
        first += len(some)


def serve(requests: "SimpleQueue[str | None]") -> Iterator[Reply]:
    """Work at all requests in turn, so that a formula need not wait for a long piece of code."""
    jobs: deque[tuple[int, Job]] = deque()
    while True:
        while not jobs or not requests.empty():
            line = requests.get()
            if line is None:
                return
            request = json.loads(line)
            jobs.append((request["id"], job(request)))
        number, replies = jobs.popleft()
        reply = _step(replies)
        yield reply or {"id": number}
        if reply:
            jobs.append((number, replies))


def _step(replies: Job) -> Reply | None:
    """The next reply of a job; None at its end, whichever way it ended."""
    signal.setitimer(signal.ITIMER_VIRTUAL, STEP_S)
    try:
        return next(replies, None)
    except Exception:  # noqa: BLE001 - the outermost frame: what a model wrote must not end it
        return None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"a step computed for more than {STEP_S} s")


def _read_into(requests: "SimpleQueue[str | None]") -> None:
    for line in sys.stdin:
        requests.put(line)
    requests.put(None)


def main() -> None:
    """Serve standard input until it closes."""
    signal.signal(signal.SIGVTALRM, _too_long)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: the window decides
    requests: SimpleQueue[str | None] = SimpleQueue()
    threading.Thread(target=_read_into, args=(requests,), daemon=True).start()
    try:
        for reply in serve(requests):
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()
    except BrokenPipeError:
        os._exit(0)  # nobody reads any more; an ordinary exit would try to write the rest


if __name__ == "__main__":
    main()
