"""Hit rates of eviction policies by slots a layer, beside the best that knowing the future allows.

python -m tests.bench.bench_policies [TRACE]

TRACE is a recorded routing trace; without one, routing is generated with the locality of a model
that has 256 experts and uses 8 of them a token.
"""

import argparse
from functools import partial
from pathlib import Path

from engine.experts.policy import Frequency, Recency
from engine.experts.simulator import replay, replay_optimal
from engine.experts.trace import Trace, load_trace
from tests.engine.experts.routing import generated_trace

HALF_LIVES = (2, 8, 32, 128)
TOKENS_OF_SLOTS = (1.5, 2, 3, 4, 6, 8, 12, 16, 24)


def rates(trace: Trace, slots: int) -> list[float]:
    """Recency, frequency by half-life, optimum."""
    frequencies = [replay(trace, slots, partial(Frequency, h)) for h in HALF_LIVES]
    replays = [replay(trace, slots, Recency), *frequencies, replay_optimal(trace, slots)]
    return [result.hit_rate for result in replays]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", type=Path, nargs="?")
    path = parser.parse_args().trace
    trace = load_trace(path) if path else generated_trace(800, 2, 256, 8)
    tokens, layers, top_k = trace.routes.shape
    print(f"{tokens} tokens, {layers} layers, {top_k} of {trace.expert_count} experts")
    columns = ["recency", *(f"freq {h}" for h in HALF_LIVES), "optimum"]
    print("slots " + "".join(f"{column:>9}" for column in columns))
    for share in TOKENS_OF_SLOTS:
        slots = round(share * top_k)
        if slots < trace.expert_count:
            print(f"{slots:5} " + "".join(f"{rate:9.3f}" for rate in rates(trace, slots)))


if __name__ == "__main__":
    main()
