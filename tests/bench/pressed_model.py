"""A model with its keeper in a process of its own, for benchmarks and tests that squeeze it.

    python -m tests.bench.pressed_model CONTAINER SLOTS [TOKEN_MS]

Reads lines `PROMPT TOKENS` (how many to read and to write, greedily) from standard input; between
them it is idle and tends its memory. Tells JSON lines: `loaded`, `look` (how many tokens are
written and what the process uses), `change`, `done`. A change and the end tell how often the
kernel woke us for a stall since the last change, a change also how many tokens after the first
time. Ids alone: the container needs no tokenizer.
TOKEN_MS slows a tiny model down to the pace of a large one.
"""

import json
import select
import sys
import time
from pathlib import Path
from typing import Any

from engine.events import Finished
from engine.loading import load_model
from engine.memory import machine
from engine.memory.keeper import MemoryKeeper
from engine.memory.pressure import Pressure, open_source
from engine.options import GenerationOptions
from engine.protocol import PressureLevel
from engine.session import ChatSession

IDLE_S = 0.1


class Overheard(Pressure):
    """Counts the kernel's own words."""

    def __init__(self) -> None:
        super().__init__()
        self.stalls_told: list[PressureLevel] = []

    def on_stall(self, level: PressureLevel) -> None:
        """From the thread that waits for the triggers."""
        self.stalls_told.append(level)
        super().on_stall(level)


def main() -> None:
    """Serve until the input ends."""
    model = load_model(Path(sys.argv[1]), slots=int(sys.argv[2]))
    pressure, session = Overheard(), ChatSession(model)
    source = open_source(pressure)
    keeper = MemoryKeeper(model, session.live, pressure)
    first_heard: int | None = None
    written, token_s = 0, int(sys.argv[3]) / 1000 if len(sys.argv) > 3 else 0.0

    def look(**more: Any) -> None:
        nonlocal first_heard
        if first_heard is None and pressure.stalls_told:
            first_heard = written
        before, change = machine.used_bytes(), keeper.tend()
        slots, used = model.plan.slots_per_layer, machine.used_bytes()
        if change is not None:
            since = 0 if first_heard is None else written - first_heard
            tell(
                kind="change",
                message=change.message,
                level=change.level,
                slots=slots,
                before=before,
                used=used,
                stalls=_counts(pressure.stalls_told),
                tokens_since_stall=since,
            )
            first_heard = None
            pressure.stalls_told.clear()
        tell(kind="look", level=keeper.level, slots=slots, used=used, **more)

    def between() -> None:
        nonlocal written
        time.sleep(token_s)
        look(tokens=written)
        written += 1

    session.between = between
    tell(kind="loaded", total=model.plan.total_bytes, pool=model.plan.slots_bytes)
    while True:
        if not select.select([sys.stdin], [], [], IDLE_S)[0]:
            look()
            continue
        line = sys.stdin.readline()
        if not line:
            break
        prompt, tokens = map(int, line.split())
        written, first_heard = 0, None
        pressure.stalls_told.clear()
        ids = [(i * 7919) % (model.config.vocab_size - 10) for i in range(prompt)]
        options = GenerationOptions(
            temperature=0,
            max_tokens=tokens,
            logit_bias=dict.fromkeys(model.container.eos_token_ids, -100.0),
        )
        *_, end = session.complete(ids, options, text=False)
        assert isinstance(end, Finished)
        stalls = _counts(pressure.stalls_told)
        tell(kind="done", tokens=list(end.tokens), peak=machine.peak_bytes(), stalls=stalls)
    if source is not None:
        source.close()
    model.close()


def _counts(levels: list[PressureLevel]) -> dict[str, int]:
    return {level: levels.count(level) for level in ("warning", "critical")}


def tell(**fields: Any) -> None:
    """One line."""
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
