"""Many conversations, edits, cancels, resizes and engine restarts: does anything grow or stay?

    python -m tests.bench.soak [--minutes 30] [--model PATH]

Speaks the application's protocol with real engine processes. Each life of an engine answers, is
cancelled, resized and asked again at random; figures are taken at rest between rounds. Tells the
slope of memory within a life and over all lives, what is open, what a life leaves behind, and
whether a probe prompt is answered word for word as at first.
"""

import argparse
import os
import queue
import random
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from engine import protocol as wire
from engine.container.library import built_in_model
from engine.options import GenerationOptions

MB = 1_000_000
LIFE_ROUNDS = 160  # then the engine is started anew
SETTLED_ROUNDS = 80  # until snapshots have filled their share, memory may rise
PATIENCE_S = 300
MOST_SLOPE = 0.2  # MB a round, and a life
PROBE = (wire.ChatMessage("user", "Hello. What is a lighthouse?"),)
WORDS = ("sea", "light", "stone", "wind", "bird", "garden", "moon", "bread", "tower", "rain")

E = TypeVar("E")


class Engine:
    """An engine process. A context manager; leaving it closes its input, which ends it."""

    def __init__(self, model: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "engine.host"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # whatever it starts can be told by that
        )
        self._events: queue.Queue[wire.Event | None] = queue.Queue()
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()
        self._count = 0
        self.said = ""  # in the last answer
        self.send(wire.Load(str(model), slots=16))
        self.budget_bytes = self.wait_for(wire.Loaded).plan.budget_bytes

    def send(self, command: wire.Command) -> None:
        """To the process."""
        assert self.process.stdin
        self.process.stdin.write(wire.encode(command))
        self.process.stdin.flush()

    def wait_for(self, kind: type[E]) -> E:
        """The next event of a kind."""
        while True:
            event = self._events.get(timeout=PATIENCE_S)
            if isinstance(event, wire.Text):
                self.said += event.text
            if isinstance(event, kind):
                return event
            if event is None or isinstance(event, wire.Failed | wire.Bug):
                raise RuntimeError(f"the engine said {event}")

    def answer(
        self, messages: tuple[wire.ChatMessage, ...], tokens: int, cancel: bool = False
    ) -> wire.Finished:
        """A greedy answer, cancelled at its first word if asked for."""
        self._count += 1
        self.said = ""
        id = str(self._count)
        self.send(wire.Generate(id, messages, GenerationOptions(temperature=0, max_tokens=tokens)))
        if cancel:
            self.wait_for(wire.Text)
            self.send(wire.Cancel(id))
        return self.wait_for(wire.Finished)

    def figures(self) -> tuple[float, int, int]:
        """Resident MB, open descriptors, threads."""
        proc = Path(f"/proc/{self.process.pid}")
        pages = int((proc / "statm").read_text().split()[1])
        resident = pages * os.sysconf("SC_PAGE_SIZE") / MB
        return resident, len(os.listdir(proc / "fd")), len(os.listdir(proc / "task"))

    def left_behind(self) -> list[int]:
        """Processes of its session that still are: itself and all that it started."""
        return [pid for pid in _processes() if _session(pid) == self.process.pid]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)
        self._listener.join()
        self.process.stdout.close()

    def _listen(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._events.put(wire.decode_event(line))
        self._events.put(None)


def main() -> None:
    """Soak; exit 1 where anything grew, stayed or changed."""
    parser = argparse.ArgumentParser(description="Does anything grow or stay?")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--model", type=Path, default=built_in_model())
    parsed = parser.parse_args()
    deadline, chance = time.monotonic() + 60 * parsed.minutes, random.Random(0)
    probes: set[str] = set()
    rests: list[float] = []
    own = _open_files()
    ok, rounds, left = True, 0, 0
    while time.monotonic() < deadline or not rests:
        with Engine(parsed.model) as engine:
            resident, fine = _live(engine, chance, deadline, probes, len(rests) + 1)
        ok, rounds, left = ok and fine, rounds + len(resident), left + len(engine.left_behind())
        if len(resident) == LIFE_ROUNDS or not rests:
            rests.append(statistics.median(resident[-20:]))
    slope = _slope(rests, 3)
    print(
        f"{rounds} rounds; from life to life {slope:+.3f} MB ({_course(rests)}); "
        f"{left} processes left, {_open_files() - own:+} descriptors here, "
        f"{threading.active_count()} thread; the probe had {len(probes)} answer(s): {probes}"
    )
    same = len(probes) == 1 and _open_files() == own and threading.active_count() == 1
    sys.exit(not (ok and same and slope < MOST_SLOPE and not left))


def _live(
    engine: Engine,
    chance: random.Random,
    deadline: float,
    probes: set[str],
    life: int,
) -> tuple[list[float], bool]:
    """One life of an engine: its memory after every round, and whether nothing grew."""
    chats: list[tuple[wire.ChatMessage, ...]] = []
    resident: list[float] = []
    open_files, threads = set(), set()
    for _ in range(LIFE_ROUNDS):
        _round(engine, chance, chats)
        probe = engine.answer(PROBE, 24)
        probes.add(f"{engine.said} [{probe.reason}, {probe.stats.generated_tokens} tokens]")
        figures = engine.figures()
        resident.append(figures[0])
        open_files.add(figures[1])
        threads.add(figures[2])
        if time.monotonic() > deadline:
            break
    settled = resident[SETTLED_ROUNDS:]
    slope = _slope(settled)
    print(
        f"life {life}: {len(resident)} rounds, MB at every tenth: {_course(resident[::10])}; "
        f"{slope:+.3f} MB a round at the end, descriptors {sorted(open_files)}, "
        f"threads {sorted(threads)}",
        flush=True,
    )
    held = slope < MOST_SLOPE and max(open_files) - min(open_files) <= 16 and len(threads) == 1
    return resident, held


def _course(values: list[float]) -> str:
    return " ".join(f"{value:.0f}" for value in values)


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _session(pid: int) -> int | None:
    """None: it is gone."""
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def _slope(values: list[float], least: int = 10) -> float:
    """A step's rise, by least squares; 0 of fewer values than `least`."""
    if len(values) < least:
        return 0.0
    return statistics.linear_regression(range(len(values)), values).slope


def _round(
    engine: Engine, chance: random.Random, chats: list[tuple[wire.ChatMessage, ...]]
) -> None:
    """A turn of a new, an old or an edited conversation; perhaps cancelled; perhaps a resize."""
    words = wire.ChatMessage("user", " ".join(chance.choices(WORDS, k=chance.randint(3, 40))))
    kind = chance.choice(("new", "on", "edited"))
    if kind == "new" or not chats:
        chat: tuple[wire.ChatMessage, ...] = (words,)
    elif kind == "on":
        chat = (*chance.choice(chats), words)
    else:
        chat = (*chance.choice(chats)[:-2], words)
    finished = engine.answer(chat, chance.randint(1, 24), cancel=chance.random() < 0.2)
    chats.append((*chat, wire.ChatMessage("assistant", f"{finished.reason}.")))
    del chats[:-12]
    if chance.random() < 0.3:
        share = chance.uniform(0.98, 1.0)
        engine.send(wire.Resize(int(engine.budget_bytes * share)))
        engine.wait_for(wire.MemoryChanged)


if __name__ == "__main__":
    main()
