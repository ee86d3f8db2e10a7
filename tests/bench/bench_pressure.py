"""A model in a control group: a limit a little above its plan, then less, then a hog beside it.

    python -m tests.bench.bench_pressure [CONTAINER] [--slots 64] [--prompt 4000] [--tokens 500]

Real limits and the kernel's own stalls; needs the right to make control groups. Tells for each act
how the pool changed, after how many tokens, what the process used before and after, how often the
kernel's triggers woke us, and whether it killed anything; after a limit is raised and after the hog
has gone, how the pool grows back. The answers are compared with those that nothing disturbed.
"""

import argparse
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

from engine.memory import machine
from tests.bench.cgroup import MemoryGroup, NoController, memory_group
from tests.bench.synthetic import Shape, make_container

MB = 1_000_000
HOG_ROOM = 300 * MB  # beside what is to stay free: the hog's, and a chunk's scratch before it comes
HOG = """
import mmap, os, random, sys
held = b"x" * int(sys.argv[1])
files = [os.open(path, os.O_RDONLY) for path in sys.argv[2:]]
for file in files:
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)  # to be read, and charged, anew
maps = [mmap.mmap(file, 0, prot=mmap.PROT_READ) for file in files]
while True:
    for touched in maps:
        touched[random.randrange(len(touched))]
"""

Happening = Callable[[], object]
Line = dict[str, Any]


class Pressed:
    """`tests.bench.pressed_model` in a group. A context manager; leaving it ends the process."""

    def __init__(
        self, container: Path, slots: int, group: MemoryGroup | None = None, token_ms: int = 0
    ) -> None:
        command = [sys.executable, "-m", "tests.bench.pressed_model"]
        command += [str(container), str(slots), str(token_ms)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if group is not None:
            group.enter(self.process.pid)
        self.slots = slots  # a layer's, as last told
        self.loaded = self.hear()

    def hear(self) -> Line:
        """The next line. Raises RuntimeError where the process has ended."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the model's process ended with {self.process.wait()}")
        told: Line = json.loads(line)
        self.slots = told.get("slots", self.slots)
        return told

    def answer(self, prompt: int, tokens: int) -> Iterator[Line]:
        """What is told until the answer is done, that included."""
        assert self.process.stdin
        self.process.stdin.write(f"{prompt} {tokens}\n")
        self.process.stdin.flush()
        while True:
            yield (line := self.hear())
            if line["kind"] == "done":
                return

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
        if error is not None:
            self.process.kill()
        self.process.stdout.read()
        self.process.wait()
        self.process.stdout.close()


class Hog:
    """A process in the same group that takes memory, then maps files and touches them all over.

    Their pages are dropped and read again and again: the group stands still for want of memory.
    """

    def __init__(self, group: MemoryGroup, container: Path, take_bytes: int) -> None:
        files = sorted(str(file) for file in (container / "packed_experts").glob("*.bin"))
        self.process = subprocess.Popen([sys.executable, "-c", HOG, str(take_bytes), *files])
        group.enter(self.process.pid)

    def end(self) -> None:
        """Give all back."""
        self.process.kill()
        self.process.wait()


def play(
    pressed: Pressed, prompt: int, tokens: int, happens: Happening, after: int = 10
) -> tuple[list[int], list[Line]]:
    """An answer with something that happens after some tokens: its ids, and the changes told.

    A change has `after`: how many tokens were written between the happening and it.
    """
    changes: list[Line] = []
    happened_at: int | None = None
    written = 0
    for line in pressed.answer(prompt, tokens):
        written = line.get("tokens", written) if line["kind"] == "look" else written
        if happened_at is None and written >= after:
            happened_at = written
            happens()
        if line["kind"] == "change":
            changes.append(line | {"after": written - (happened_at or 0)})
    return line["tokens"], changes


def rest(pressed: Pressed, seconds: float, whole: int) -> list[Line]:
    """The changes while it is idle, until the pool is whole again or the time is over."""
    changes: list[Line] = []
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        line = pressed.hear()
        if line["kind"] == "change":
            changes.append(line | {"seconds": time.monotonic() - started})
        if line["kind"] == "look" and line["slots"] == whole:
            break
    return changes


@dataclass(frozen=True, slots=True)
class Size:
    """An answer's prompt and length, in tokens."""

    prompt: int
    tokens: int


SHORT = Size(400, 200)  # long enough for the kernel to notice a hog


def main() -> None:
    """Play all acts; exit 1 where something that must hold did not."""
    parser = argparse.ArgumentParser(description="A model under real memory pressure.")
    parser.add_argument("container", type=Path, nargs="?", help="default: 4 layers, made here")
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--prompt", type=int, default=4000, help="tokens, of the first act")
    parser.add_argument("--tokens", type=int, default=500)
    parser.add_argument("--room", type=int, default=60, help="MB of the limit above the plan")
    parser.add_argument("--rest", type=int, default=240, help="seconds to grow back, at most")
    parsed = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))  # the group is removed
    with TemporaryDirectory() as folder:
        container = parsed.container or make_container(Path(folder), Shape(layers=4))
        try:
            with memory_group("martlet-bench") as group:
                held = Play(parsed, container, group).all_acts()
        except NoController as error:
            print(f"skipped: {error}")
            return
    sys.exit(not held)


class Play:
    """One process through all acts, and beside it one that nothing disturbs."""

    def __init__(self, parsed: argparse.Namespace, container: Path, group: MemoryGroup) -> None:
        self._options = parsed
        self._container = container
        self._group = group
        self._whole = Size(parsed.prompt, parsed.tokens)
        self._expected: dict[Size, list[int]] = {}
        self._held = True

    def all_acts(self) -> bool:
        """Whether all held."""
        parsed, group = self._options, self._group
        with Pressed(self._container, parsed.slots) as alone:
            for size in (self._whole, SHORT):
                self._expected[size] = play(alone, size.prompt, size.tokens, lambda: None)[0]
        total, pool = alone.loaded["total"], alone.loaded["pool"]
        group.limit(total + parsed.room * MB)
        print(f"plan {total / MB:.0f} MB, pool {pool / MB:.0f} MB, limit {parsed.room} MB above")
        with Pressed(self._container, parsed.slots, group) as pressed:
            changes = self._act(pressed, "within the limit", self._whole, lambda: None)
            self._check("never short", not _shrinks(changes))
            changes = _shrinks(self._act(pressed, "limit lowered", SHORT, self._lower))
            self._check("shrunk within two tokens", bool(changes) and changes[0]["after"] <= 2)
            group.limit(4 * total)
            self._grow(pressed, "limit raised")
            self._beside_a_hog(pressed)
        self._check("nothing was killed", not group.kills())
        return self._held

    def _beside_a_hog(self, pressed: Pressed) -> None:
        """A limit with room to spare, most of which the hog takes.

        It leaves so much that nothing is short by our own figures: the stalls alone speak.
        """
        group, hogs = self._group, list[Hog]()
        limit = (_needed(group) + HOG_ROOM) * 16 // 13  # 3/16 of a limit are to stay free
        group.limit(limit)
        spare = machine.spare_bytes(limit)
        stalled = _stalled_us(group)

        def begin() -> None:
            take = max(MB, limit - _needed(group) - spare * 7 // 16)
            hogs.append(Hog(group, self._container, take))

        try:
            changes = _shrinks(self._act(pressed, "a hog beside it", SHORT, begin))
        finally:
            for hog in hogs:
                hog.end()
        stalled = _stalled_us(group) - stalled
        print(f"  the group stood still for {stalled / 1e6:.1f} s: {group.pressure.splitlines()}")
        told = changes[0]["stalls"] if changes else {}
        self._check("the kernel's trigger woke us", any(told.values()))
        soon = bool(changes) and changes[0]["tokens_since_stall"] <= 2
        self._check("shrunk within two tokens of it", soon)
        self._grow(pressed, "the hog gone")

    def _lower(self) -> None:
        self._group.limit(_needed(self._group) + 12 * MB)

    def _act(self, pressed: Pressed, name: str, size: Size, happens: Happening) -> list[Line]:
        started = time.monotonic()
        ids, changes = play(pressed, size.prompt, size.tokens, happens)
        took = time.monotonic() - started
        print(f"{name}: {size.prompt} tokens read, {len(ids)} written in {took:.0f} s")
        _show(changes)
        self._check("the same tokens as undisturbed", ids == self._expected[size])
        return changes

    def _grow(self, pressed: Pressed, name: str) -> None:
        print(f"{name}:")
        _show(rest(pressed, self._options.rest, self._options.slots))
        self._check("the pool is whole again", pressed.slots == self._options.slots)

    def _check(self, what: str, held: bool) -> None:
        print(f"  {what}: {'yes' if held else 'NO'}", flush=True)
        self._held &= held


def _needed(group: MemoryGroup) -> int:
    """What the kernel could not drop: the smallest limit that it takes."""
    return group.used_bytes - group.cache_bytes


def _stalled_us(group: MemoryGroup) -> int:
    """For how long some process of the group has stood still, in all. 0: nobody counts."""
    return sum(int(total) for total in re.findall(r"some .* total=(\d+)", group.pressure))


def _shrinks(changes: list[Line]) -> list[Line]:
    """Those for want of memory; a long conversation takes room from the pool too."""
    return [change for change in changes if change["level"] != "normal"]


def _show(changes: list[Line]) -> None:
    for change in changes:
        when = f"{change['after']} tokens" if "after" in change else f"{change['seconds']:.0f} s"
        used = f"the process uses {change['before'] / MB:.0f} → {change['used'] / MB:.0f} MB"
        print(f"  after {when}: {change['level']}: {change['message']} {used}")
        if any(change["stalls"].values()):
            told = ", ".join(f"{count} {level}" for level, count in change["stalls"].items())
            since = change["tokens_since_stall"]
            print(f"    woken by the kernel's triggers: {told}; {since} tokens after the first")


if __name__ == "__main__":
    main()
