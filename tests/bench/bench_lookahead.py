"""Lookahead on and off in turns, from a cold disk, on a random model of the true layer shapes.

    python -m tests.bench lookahead [folder [layers [experts]]]

Before every token the model's files leave the page cache, and reads go past it, as where it has no
room; the slots are a quarter of the experts. Precision is of guessed experts that were missing. A
random model's routers are harder to foretell than a trained one's: the built-in model's precision
is printed beside it.
"""

import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import mlx.core as mx

import engine
from engine.container.library import built_in_model
from engine.experts.lookahead import Lookahead
from tests.bench.bench_quarter import drop_files
from tests.bench.synthetic import Shape, make_container

ROUNDS, TOKENS = 7, 24


class Switched(Lookahead):
    """On or off as told."""

    on = False

    @property
    def looks(self) -> bool:
        return self.on


def switched(model: engine.Model) -> Switched:
    """Let the model look ahead by a switch."""
    ahead = Switched(model.cache, max(1, model.config.experts_per_token // 2))
    model.lookahead = ahead
    model.memory = replace(model.memory, lookahead=ahead)
    return ahead


def measure(path: Path, slots: int) -> None:
    """Print the figures of one model."""
    model = engine.load_model(path, slots=slots, direct_reads=True)
    ahead, state = switched(model), model.new_state()
    model.read(list(range(1, 40)), state)
    seconds: dict[bool, list[float]] = {False: [], True: []}
    waits: dict[bool, list[float]] = {False: [], True: []}
    made = right = 0
    for turn in range(2 * ROUNDS):
        ahead.on = (turn + turn // 2) % 2 == 1  # first one, then the other, goes first
        ahead._begin("watching")
        before, took, token = model.cache.stats, 0.0, turn + 5
        for _ in range(TOKENS):
            drop_files(model)
            started = time.perf_counter()
            token = int(mx.argmax(model.decode(token, state)))
            took += time.perf_counter() - started
            made, right = made + ahead._made, right + ahead._right
            ahead._made = ahead._right = 0
        seconds[ahead.on].append(took / TOKENS)
        waits[ahead.on].append((model.cache.stats - before).wait_s / TOKENS)
    for on in (False, True):
        took, waited = statistics.median(seconds[on]), statistics.median(waits[on])
        name = "with" if on else "without"
        print(f"  {name}: {took * 1e3:.1f} ms a token, {waited * 1e3:.1f} waited")
    gains = [1 - b / a for a, b in zip(seconds[False], seconds[True], strict=True)]
    print(f"  gain {statistics.median(gains):+.1%} (median of {ROUNDS} pairs)")
    print(f"  precision {right / max(1, made):.0%} of {made} guesses")
    model.close()


def main() -> None:
    """Both models."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(made)
        layers, experts = (int(a) for a in (*sys.argv[2:4], "8", "64")[:2])
        shape = Shape(layers=layers, experts=experts, top_k=8)
        print(f"{layers} layers of {experts} experts, {experts // 4} slots, spread {shape.spread}")
        measure(make_container(folder, shape), experts // 4)
    print("the built-in model, 8 slots")
    measure(built_in_model(), 8)


if __name__ == "__main__":
    main()
