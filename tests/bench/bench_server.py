"""What the server adds to the bare engine, and whether a thousand requests leave it as it was.

python -m tests.bench.bench_server [--rounds 7] [--tokens 48] [--requests 1000]

Bare and served answers take turns, so that a busy machine disturbs both alike; the server runs in a
process of its own. "Pipe" is a session that has its tokens ready: what a token costs between
the thread of the model and a client in the same process, without any model.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import httpx

from engine.container.library import built_in_model
from engine.events import TextDelta
from engine.loading import load_model
from engine.options import GenerationOptions
from engine.session import ChatSession
from tests.engine.server.scripted import CHAT, Scripted, saying, serving, user

PIPE_TOKENS = 5000
PARTS = 10  # of all requests; memory is looked at after each


def questions() -> Iterator[str]:
    """Prompts of one length that nobody has read before."""
    for number in range(1000, 10_000):
        yield f"What is a lighthouse? {number}"


def bare(session: ChatSession, question: str, tokens: int) -> list[float]:
    """When each piece of text was there, in seconds after asking."""
    options = GenerationOptions(temperature=0, max_tokens=tokens, logit_bias={0: -100, 2: -100})
    began = time.perf_counter()
    events = session.stream(user(question)["messages"], options)
    return [time.perf_counter() - began for event in events if isinstance(event, TextDelta)]


def served(client: httpx.Client, question: str, tokens: int) -> list[float]:
    """The same through the server."""
    body = user(question) | {"temperature": 0, "max_tokens": tokens, "stream": True}
    body |= {"logit_bias": {"0": -100, "2": -100}}
    began = time.perf_counter()
    with client.stream("POST", CHAT, json=body) as response:
        return [
            time.perf_counter() - began
            for line in response.iter_lines()
            if line.startswith("data: {") and _content(line)
        ]


def _content(line: str) -> str:
    delta: dict[str, str] = json.loads(line.removeprefix("data: "))["choices"][0]["delta"]
    return delta.get("content", "")


def pipe() -> tuple[float, float]:
    """Milliseconds to the first text and a token, without a model."""
    session = Scripted(saying("token "))
    with serving(session) as client:
        firsts = [served(client, "?", 1)[0] for _ in range(20)]
        session.script = saying(*["token "] * PIPE_TOKENS)
        times = served(client, "?", PIPE_TOKENS)
    mean = (times[-1] - times[0]) / (len(times) - 1)
    return 1000 * statistics.median(firsts), 1000 * mean


@contextmanager
def server() -> Iterator[tuple[int, httpx.Client]]:
    """`martlet serve demo` as a process: its id and a client."""
    command = [sys.executable, "-m", "engine.cli", "serve", "demo", "--port", "0", "--slots", "16"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            url = re.search(r"http://\S+/v1", process.stderr.readline())
            assert url
            threading.Thread(target=process.stderr.read).start()  # a full pipe would block it
            with httpx.Client(base_url=url[0], timeout=600, trust_env=False) as client:
                yield process.pid, client
        finally:
            process.kill()


def compare(client: httpx.Client, rounds: int, tokens: int) -> None:
    """Bare and served in turns."""
    model = load_model(built_in_model(), slots=16)
    session, asked = ChatSession(model), questions()
    runs: dict[str, list[list[float]]] = {"bare": [], "served": []}
    for _ in range(rounds + 1):  # the first warms up
        runs["bare"].append(bare(session, next(asked), tokens))
        runs["served"].append(served(client, next(asked), tokens))
    model.close()
    figures = {name: _figures(times[1:]) for name, times in runs.items()}
    figures["added"] = [s - b for s, b in zip(figures["served"], figures["bare"], strict=True)]
    for name, (first, quick, typical) in figures.items():
        print(f"{name:8}{first:12.1f}{quick:12.2f}{typical:12.2f}")


def _figures(runs: list[list[float]]) -> list[float]:
    """Milliseconds: the median first text; between texts, undisturbed (5 %) and the median."""
    gaps = sorted(1000 * (b - a) for run in runs for a, b in pairwise(run))
    first = 1000 * statistics.median(run[0] for run in runs)
    return [first, gaps[len(gaps) // 20], statistics.median(gaps)]


def endure(client: httpx.Client, pid: int, requests: int) -> None:
    """Many short answers; the memory on the way, which snapshots fill up to their share."""
    sizes = [_resident_mb(pid)]
    for _ in range(PARTS):
        _ask(client, requests // PARTS)
        sizes.append(_resident_mb(pid))
    print(f"{requests} requests, MB: " + ", ".join(f"{size:.1f}" for size in sizes))


def _ask(client: httpx.Client, count: int) -> None:
    for number in range(count):
        body = user(f"Hello {number % 7}") | {"max_tokens": 2, "stream": number % 2 == 0}
        client.post(CHAT, json=body).raise_for_status()


def _resident_mb(pid: int) -> float:
    said = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=True)
    return int(said.stdout) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--requests", type=int, default=1000)
    parsed = parser.parse_args()
    first, step = pipe()
    print(f"{'ms':8}{'first text':>12}{'undisturbed':>12}{'each token':>12}")
    print(f"{'pipe':8}{first:12.1f}{'':12}{step:12.2f}")
    with server() as (pid, client):
        compare(client, parsed.rounds, parsed.tokens)
        endure(client, pid, parsed.requests)


if __name__ == "__main__":
    main()
