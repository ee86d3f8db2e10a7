"""A long prompt at a quarter of the slots: its rate beside decode, its reads, and its memory.

    python -m tests.bench.bench_sweep [--folder DIR] [--rounds 3] [--rate-mb 0,400] [--chunk 1024]

The 8-layer cut of `bench_quarter`, 64 of 256 slots a layer, 1,024 tokens, in one chunk unless told
otherwise, then 64 tokens of decode; each round is a fresh process. The experts' files leave the
page cache before each chunk and before each decoded token, and reads go past it, as where it has no
room. They are counted where the model asks for them, by chunk and expert, and by the kernel; the
peak is the process's own high-water mark.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import mlx.core as mx

from engine import load_model
from engine.memory import machine
from tests.bench.bench_quarter import drop_files, numbers, spread
from tests.bench.cgroup import NoController, reads_held
from tests.bench.counted_reads import CountedReads
from tests.bench.peer_runs import bytes_read, tokens
from tests.bench.synthetic import Shape, make_container

PROMPT, DECODE = 1024, 64
Figures = dict[str, Any]


def one_round(path: Path, chunk: int) -> Figures:
    """All figures of one prompt and what follows it."""
    experts, given = Shape().experts, tokens(PROMPT + DECODE)
    model = load_model(
        path,
        slots=experts // 4,
        context_tokens=PROMPT + DECODE,
        snapshots_bytes=0,
        direct_reads=True,
        chunk_tokens=chunk,
    )
    counted, state, chunks, prompt_s = CountedReads(), model.new_state(), [], 0.0
    counted.watch(model)
    before = bytes_read()
    for start in range(0, PROMPT, chunk):
        drop_files(model)
        started = time.perf_counter()
        last = start + chunk >= PROMPT
        hidden = model.forward(given[start : min(start + chunk, PROMPT)], state, admit=last)
        if last:
            mx.eval(model.logits(hidden[-1:]))
        prompt_s += time.perf_counter() - started
        chunks.append((len(counted.reads), max(counted.reads.values()), counted.reads.total()))
        counted.reads.clear()
    from_disk = bytes_read() - before
    token_s = []
    for token in given[PROMPT:]:
        drop_files(model)
        started = time.perf_counter()
        mx.eval(model.decode(token, state))
        token_s.append(time.perf_counter() - started)
    payload = model.container.layout.payload
    model.close()
    return {
        "prompt": PROMPT / prompt_s,
        "decode": DECODE / sum(token_s),
        "chunk_tokens": model.plan.chunk_tokens,
        "all": model.config.layer_count * experts,
        "chunks": chunks,
        "counted": sum(total for _, _, total in chunks) * payload,
        "from_disk": from_disk,
        "peak": machine.peak_bytes(),
        "plan": model.plan.total_bytes,
    }


def run(path: Path, chunk: int) -> Figures:
    """`one_round` in a process of its own, for its memory."""
    command = [sys.executable, "-m", "tests.bench.bench_sweep", "--run", str(path)]
    command += ["--chunk", str(chunk)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    figures: Figures = json.loads(done.stdout)
    return figures


def show(rounds: list[Figures]) -> None:
    """Medians and spreads; the worst of what is counted."""
    print(f"  prompt  {spread(r['prompt'] for r in rounds)} tokens/s", end=", ")
    print(f"decode {spread((r['decode'] for r in rounds), 2)}", end=": ")
    print(f"{spread(r['prompt'] / r['decode'] for r in rounds)} times")
    last = rounds[-1]
    print(f"  chunks of {last['chunk_tokens']} tokens, {last['all']} experts in all")
    for number, (experts, most, total) in enumerate(last["chunks"], 1):
        print(f"    {number}: {experts} experts read, {most} time at most, {total} reads")
    most = max(chunk[1] for each in rounds for chunk in each["chunks"])
    print(f"    all rounds: an expert at most {most} time a chunk", end="; ")
    print(f"{last['counted'] / 1e9:.2f} GB, by the kernel's count {last['from_disk'] / 1e9:.2f}")
    peak, plan = max(r["peak"] for r in rounds), last["plan"]
    print(f"  memory  peak {peak / 1e6:.0f} MB, plan {plan / 1e6:.0f}: {peak / plan:.3f} of it")
    middle = statistics.median(r["prompt"] / r["decode"] for r in rounds)
    held = middle >= 10, most == 1, peak <= plan
    print("  10 times: {}, once: {}, within the plan: {}".format(*held), flush=True)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description="A long prompt at a quarter of the slots.")
    default = Path(tempfile.gettempdir()) / "martlet-peers"
    parser.add_argument("--folder", type=Path, default=default, help="where the model is, or goes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate-mb", type=numbers, default=[0, 400], help="0: the disk as it is")
    parser.add_argument("--chunk", type=int, default=PROMPT, help="tokens read together")
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    parsed = parser.parse_args()
    if parsed.run:
        print(json.dumps(one_round(parsed.run, parsed.chunk)))
        return
    path = make_container(parsed.folder, Shape())
    for rate in parsed.rate_mb:
        name = f"Reads held to {rate} MB/s" if rate else "The disk as it is"
        print(f"{name}: {parsed.rounds} rounds, load {os.getloadavg()[0]:.1f}", flush=True)
        try:
            with reads_held(path, rate * 1_000_000) if rate else nullcontext():
                show([run(path, parsed.chunk) for _ in range(parsed.rounds)])
        except NoController as error:
            print(f"  Not run: {error}")


if __name__ == "__main__":
    main()
