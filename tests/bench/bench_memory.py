"""Peak memory against the ledger, over slot counts and prompt lengths; each run in a fresh process.

    python -m tests.bench.bench_memory CONTAINER [--slots 16,64] [--prompts 64,4096] [--decode 16]

The ledger is what `plan_memory` says before anything is allocated, for a conversation of the run's
length; without snapshots, of which one conversation alone takes none. The rule: the peak stays
within 5 % + 100 MB of it, on either side.
"""

import argparse
import json
import subprocess
import sys
from itertools import product
from pathlib import Path

TOLERANCE, TOLERANCE_BYTES = 0.05, 100_000_000


def main() -> None:
    """Print a row for every combination; exit 1 where one breaks the rule."""
    parser = argparse.ArgumentParser(description="Peak memory against the ledger.")
    parser.add_argument("container", type=Path)
    parser.add_argument("--slots", type=_numbers, default=[16, 64])
    parser.add_argument("--prompts", type=_numbers, default=[64, 1024, 4096])
    parser.add_argument("--decode", type=int, default=16)
    parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    parsed = parser.parse_args()
    if parsed.run:
        print(json.dumps(_run(parsed.container, parsed.slots[0], parsed.prompts[0], parsed.decode)))
        return
    print(f"{'slots':>6} {'prompt':>7} {'ledger MB':>10} {'peak MB':>9} {'off MB':>8}  held")
    held = [_row(parsed, *cell) for cell in product(parsed.slots, parsed.prompts)]
    sys.exit(not all(held))


def _row(parsed: argparse.Namespace, slots: int, prompt: int) -> bool:
    """One combination in its own process; whether the rule held."""
    command = [sys.executable, "-m", "tests.bench.bench_memory", str(parsed.container), "--run"]
    command += ["--slots", str(slots), "--prompts", str(prompt), "--decode", str(parsed.decode)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    figures = json.loads(done.stdout)
    ledger, peak = figures["ledger"], figures["peak"]
    held = bool(abs(peak - ledger) <= TOLERANCE * ledger + TOLERANCE_BYTES)
    off = (peak - ledger) / 1e6
    print(
        f"{slots:6} {prompt:7} {ledger / 1e6:10.0f} {peak / 1e6:9.0f} {off:+8.0f}  {held}",
        flush=True,
    )
    return held


def _run(path: Path, slots: int, prompt: int, decode: int) -> dict[str, object]:
    from engine.container.container import open_container
    from engine.loading import default_kernels, load_model
    from engine.memory import machine
    from engine.memory.plan import USUAL_CHUNK, plan_memory

    plan = plan_memory(
        open_container(path),
        slots=slots,
        kernels=default_kernels(),
        chunk_tokens=min(USUAL_CHUNK, prompt),
        context_tokens=prompt + decode,
    )
    model = load_model(path, slots=slots)
    state = model.new_state()
    logits = model.read([(i * 7919) % model.config.vocab_size for i in range(prompt)], state)
    for _ in range(decode):
        logits = model.decode(int(logits.argmax()), state)
    return {
        "ledger": plan.total_bytes - plan.snapshots_bytes,
        "peak": machine.peak_bytes(),
    }


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    main()
