"""A model in a control group: a limit a little above its plan, then less, then a hog beside it.

    python -m tests.bench.bench_pressure CONTAINER [--slots 64] [--prompt 4000] [--tokens 500]

Real limits and the kernel's own stalls; needs the right to make control groups. Tells for each act
how the pool changed, after how many tokens, what the process then used, and whether the kernel
killed anything. The answers of all acts are compared with one that nothing disturbed.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from engine.container.container import open_container
from engine.loading import activation_dtype
from engine.memory.plan import plan_memory
from tests.bench.cgroup import MemoryGroup, NoController, memory_group

MB = 1_000_000
HOG = """
import mmap, os, random, sys
files = [os.open(path, os.O_RDONLY) for path in sys.argv[1:]]
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
        self.loaded = self.hear()

    def hear(self) -> Line:
        """The next line. Raises RuntimeError where the process has ended."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the model's process ended with {self.process.wait()}")
        told: Line = json.loads(line)
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
    """A process in the same group that maps files and touches them all over.

    Its pages are dropped and read again and again: the group stands still for want of memory.
    """

    def __init__(self, group: MemoryGroup, container: Path) -> None:
        files = sorted(str(file) for file in (container / "packed_experts").glob("*.bin"))
        self.process = subprocess.Popen([sys.executable, "-c", HOG, *files])
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


def rest(pressed: Pressed, seconds: float) -> list[Line]:
    """The changes while it is idle, until the pool is whole again or the time is over."""
    changes: list[Line] = []
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        line = pressed.hear()
        if line["kind"] == "change":
            changes.append(line | {"seconds": time.monotonic() - started})
    return changes


def main() -> None:
    """Play all acts; exit 1 where an answer changed or anything was killed."""
    parser = argparse.ArgumentParser(description="A model under real memory pressure.")
    parser.add_argument("container", type=Path)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--prompt", type=int, default=4000, help="tokens")
    parser.add_argument("--tokens", type=int, default=500)
    parser.add_argument("--room", type=int, default=60, help="MB of the limit above the plan")
    parser.add_argument("--rest", type=int, default=150, help="seconds to grow back")
    parsed = parser.parse_args()
    with Pressed(parsed.container, parsed.slots) as alone:
        expected, _ = play(alone, parsed.prompt, parsed.tokens, lambda: None)
    try:
        with memory_group("martlet-bench") as group:
            ok = _acts(parsed, group, expected)
    except NoController as error:
        print(f"skipped: {error}")
        return
    sys.exit(not ok)


def _acts(parsed: argparse.Namespace, group: MemoryGroup, expected: list[int]) -> bool:
    plan = plan_memory(
        open_container(parsed.container),
        slots=parsed.slots,
        itemsize=activation_dtype().size,
    )
    total, pool = plan.total_bytes, plan.slots_bytes
    limit = total + parsed.room * MB
    group.limit(limit)
    print(f"plan {total / MB:.0f} MB, pool {pool / MB:.0f} MB, limit {limit / MB:.0f} MB")
    with Pressed(parsed.container, parsed.slots, group) as pressed:

        def act(name: str, happens: Happening) -> bool:
            ids, changes = play(pressed, parsed.prompt, parsed.tokens, happens)
            print(f"{name}: {len(ids)} tokens, same as undisturbed: {ids == expected}")
            _show(changes)
            return ids == expected

        def pause(name: str) -> None:
            print(f"{name}:")
            _show(rest(pressed, parsed.rest))

        same = act("within the limit", lambda: None)
        same &= act("limit lowered", lambda: group.limit(_needed(group) + 12 * MB))
        group.limit(4 * total)
        pause("limit raised")
        hogs: list[Hog] = []
        group.limit(_needed(group) + pool // 10)
        same &= act("a hog beside it", lambda: hogs.append(Hog(group, parsed.container)))
        print(f"  pressure: {group.pressure.splitlines()}")
        hogs[0].end()
        group.limit(4 * total)
        pause("the hog gone")
    print(f"killed for want of memory: {group.kills()}")
    return same and not group.kills()


def _needed(group: MemoryGroup) -> int:
    """What the kernel could not drop: the smallest limit that it takes."""
    return group.used_bytes - group.cache_bytes


def _show(changes: list[Line]) -> None:
    for change in changes:
        when = f"{change['after']} tokens" if "after" in change else f"{change['seconds']:.0f} s"
        used = f"the process uses {change['used'] / MB:.0f} MB"
        print(f"  after {when}: {change['level']}: {change['message']} {used}", flush=True)


if __name__ == "__main__":
    main()
