"""Decode and prefill of the built-in model, beside mlx-lm with the same weights, in one run.

    python -m tests.bench decode

Rounds alternate, so that a machine whose speed drifts is fair to both; medians, and the median of
the ratios round by round. mlx-lm runs in float32, which is its fastest on a CPU. The first token
of `martlet chat` is a whole process from its start, imports included.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

os.environ.setdefault("MLX_DISABLE_COMPILE", "1")  # for mlx-lm, which would need a C++ compiler

import mlx.core as mx

import engine
from engine.container.library import built_in_model
from tests.engine.test_demo import mlx_lm_model

ROUNDS = 5
PROMPT = [10 + i % 4000 for i in range(1024)]
TOKENS = 32


def timed(work: Callable[[], mx.array]) -> float:
    """Seconds until the result is there."""
    started = time.perf_counter()
    mx.eval(work())
    return time.perf_counter() - started


def ours(model: engine.Model) -> tuple[float, float]:
    """Seconds of a prefill of PROMPT, and of a decoded token."""
    state = model.new_state()
    prefill = timed(lambda: model.read(PROMPT, state))
    return prefill, timed(lambda: [model.decode(11 + i, state) for i in range(TOKENS)][-1]) / TOKENS


def theirs(model: object) -> tuple[float, float]:
    """The same by mlx-lm."""
    cache = model.make_cache()  # type: ignore[attr-defined]

    def step(ids: list[int]) -> mx.array:
        logits = model(mx.array([ids]), cache=cache)[0, -1]  # type: ignore[operator]
        mx.eval(logits)
        return logits

    prefill = timed(lambda: step(PROMPT))
    return prefill, timed(lambda: [step([11 + i]) for i in range(TOKENS)][-1]) / TOKENS


def first_token_s() -> float:
    """A process that says one token, from its start to its end."""
    command = [sys.executable, "-m", "engine.cli", "chat", "demo", "Hello", "--max-tokens", "1"]
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def main() -> None:
    """Print the table."""
    model, reference = engine.load_model(built_in_model(), slots=32), mlx_lm_model(built_in_model())
    ours(model), theirs(reference)  # warm
    rounds = [(ours(model), theirs(reference)) for _ in range(ROUNDS)]
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, medians of {ROUNDS} rounds")
    for place, what in ((0, f"prefill of {len(PROMPT)} tokens"), (1, "a decoded token")):
        mine = statistics.median(mine[place] for mine, _ in rounds)
        other = statistics.median(other[place] for _, other in rounds)
        ratio = statistics.median(other[place] / mine[place] for mine, other in rounds)
        print(f"{what}: {mine * 1e3:.1f} ms, mlx-lm {other * 1e3:.1f} ms, {ratio:.1f} times")
    first_s = statistics.median(first_token_s() for _ in range(3))
    print(f"first token of `martlet chat`: {first_s:.2f} s")
    model.close()


if __name__ == "__main__":
    main()
