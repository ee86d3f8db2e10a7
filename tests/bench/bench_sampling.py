"""Milliseconds that drawing one token takes, by vocabulary and setting.

python -m tests.bench.bench_sampling
"""

import statistics
import time
from typing import Any

import mlx.core as mx
import numpy as np

from engine.options import GenerationOptions
from engine.sampling import Sampler, resolve

VOCABULARIES = (8_192, 151_936, 248_320)
SETTINGS: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0},
    "temperature": {},
    "top-k 20": {"top_k": 20},
    "top-k 20, top-p 0.8": {"top_k": 20, "top_p": 0.8},
    "the same, penalties": {
        "top_k": 20,
        "top_p": 0.8,
        "repetition_penalty": 1.1,
        "presence_penalty": 1.5,
    },
    "top-p 0.9 alone": {"top_p": 0.9},
    "min-p 0.05 alone": {"min_p": 0.05},
}


def measure(size: int, chosen: dict[str, Any], rounds: int = 40) -> float:
    """Median over `rounds` draws, in ms."""
    logits = mx.array(np.random.default_rng(1).normal(size=size).astype(np.float32) * 3)
    sampler = Sampler(resolve(GenerationOptions(seed=1, **chosen), {}), size, range(100))
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        token = sampler.sample(logits)
        sampler.accept(token)
        mx.eval(token)
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


def main() -> None:
    print(f"{'':24}" + "".join(f"{size:>10}" for size in VOCABULARIES))
    for name, chosen in SETTINGS.items():
        print(f"{name:24}" + "".join(f"{measure(size, chosen):10.2f}" for size in VOCABULARIES))


if __name__ == "__main__":
    main()
