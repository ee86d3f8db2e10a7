"""A decoded token at a quarter of the slots, beside its computation alone and its reads alone.

    python -m tests.bench.bench_quarter [--folder DIR] [--rounds 7] [--rate-mb 0,400]

An 8-layer cut of the 80B (8 x 256 experts, top-10, routing spread 0.4) twice in one process: with
64 slots a layer, and with every expert resident, which is the computation alone. Both take the same
tokens, in turns. Before each token of the first the experts' files leave the page cache, so that
what it misses comes from the disk; the kernel's own count stands beside ours. As on a machine whose
page cache has no room, reads go past it, ours and fio's. What lookahead reads for nothing is no
part of what was missed. fio reads blocks of one expert in every round, as many in flight as our
reader has. The bound of a round is the larger of the two alone. Once with the disk as it is, and
once with its reads held to a slower one's rate.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import mlx.core as mx

from engine import Model, load_model
from engine.container.container import Container, open_container
from engine.experts.lookahead import SPELL, TRIAL
from engine.experts.thread_probe import threads_for
from engine.model.moe import unheard
from engine.model.state import State
from tests.bench.bench_reader import evict
from tests.bench.cgroup import NoController, reads_held
from tests.bench.counted_reads import CountedReads
from tests.bench.fio import fio, fio_installed
from tests.bench.peer_runs import bytes_read, tokens
from tests.bench.synthetic import Shape, make_container

PROMPT, TOKENS = 64, 24
SETTLING = SPELL + TRIAL  # tokens after which lookahead has decided for this disk


@dataclass(frozen=True, slots=True)
class Round:
    """Means of a token; fio's bytes a second."""

    token_s: float
    waited_s: float
    missed: float  # bytes
    read: float  # bytes: guesses that were wrong as well
    from_disk: float  # bytes, as the kernel counted them
    computing_s: float
    fio: float

    @property
    def reading_s(self) -> float:
        return self.missed / self.fio

    @property
    def ratio(self) -> float:
        """Of the token's time to its bound."""
        return self.token_s / max(self.computing_s, self.reading_s)


class Run:
    """One model that takes tokens, timed."""

    def __init__(self, container: Container, slots: int, threads: int) -> None:
        path, experts = container.path, container.config.expert_count
        self.cold = slots < experts
        self.reads = CountedReads()
        heard = self.reads.hear if self.cold else unheard
        self.model = load_model(
            path, slots=slots, reader_threads=threads, direct_reads=True, on_route=heard
        )
        self.reads.watch(self.model)
        if not self.cold:
            for layer in range(self.model.config.layer_count):
                self.model.cache.warm(layer, range(slots))
        self.state: State = self.model.new_state()

    def take(self, given: Sequence[int]) -> float:
        """Seconds of all, without those of emptying the page cache."""
        seconds = 0.0
        for token in given:
            if self.cold:
                drop_files(self.model)
            started = time.perf_counter()
            mx.eval(self.model.decode(token, self.state))
            seconds += time.perf_counter() - started
        return seconds


def drop_files(model: Model) -> None:
    """The experts' files leave the page cache."""
    for layer in range(model.config.layer_count):
        evict(model.container.layer_path(layer))


def one_round(cold: Run, resident: Run, given: Sequence[int], number: int, threads: int) -> Round:
    """Both take `given`, one first and then the other; fio before them."""
    model, layout = cold.model, cold.model.container.layout
    path = model.container.layer_path(number % layout.layer_count)
    evict(path)
    rate = fio(path, layout.stride, layout.expert_count, threads, direct=True).bytes_per_s
    computing_s = 0.0 if number % 2 else resident.take(given)
    before, missed, from_disk = model.cache.stats, cold.reads.needed, bytes_read()
    token_s = cold.take(given)
    spent, missed = model.cache.stats - before, cold.reads.needed - missed
    from_disk = bytes_read() - from_disk
    computing_s = computing_s or resident.take(given)
    count = len(given)
    return Round(
        token_s / count,
        spent.wait_s / count,
        missed * layout.payload / count,
        spent.bytes_read / count,
        from_disk / count,
        computing_s / count,
        rate,
    )


def measure(path: Path, rounds: int) -> list[Round]:
    """All rounds with fresh models."""
    container = open_container(path)
    experts, threads = container.config.expert_count, threads_for(container, direct=True)
    resident, cold = (Run(container, slots, threads) for slots in (experts, experts // 4))
    given = tokens(PROMPT + SETTLING + rounds * TOKENS)
    for run in (resident, cold):
        run.model.read(given[:PROMPT], run.state)
        run.take(given[PROMPT : PROMPT + SETTLING])
    rest = given[PROMPT + SETTLING :]
    told = [
        one_round(cold, resident, rest[i * TOKENS : (i + 1) * TOKENS], i, threads)
        for i in range(rounds)
    ]
    print(f"  {experts // 4} of {experts} slots, {threads} reads in flight", end=", ")
    ahead = cold.model.lookahead
    print(f"lookahead {ahead.phase} (precision {ahead.precision:.0%}, gain {ahead.gain:+.1%})")
    cold.model.close()
    resident.model.close()
    return told


def show(rounds: list[Round]) -> None:
    """Medians and spreads."""
    print(f"  computing alone  {spread(1e3 * r.computing_s for r in rounds)} ms")
    print(f"  missed           {spread(r.missed / 1e6 for r in rounds)} MB", end=", ")
    print(f"{spread(r.read / 1e6 for r in rounds)} read with guesses", end=", ")
    print(f"{spread(r.from_disk / 1e6 for r in rounds)} by the kernel's count")
    print(f"  fio              {spread(r.fio / 1e6 for r in rounds)} MB/s", end=", ")
    print(f"so reading alone {spread(1e3 * r.reading_s for r in rounds)} ms")
    print(f"  a token          {spread(1e3 * r.token_s for r in rounds)} ms", end=", ")
    print(f"of which it waited {spread(1e3 * r.waited_s for r in rounds)} ms")
    print(f"  over the larger  {spread((r.ratio for r in rounds), 2)} times", flush=True)


def spread(values: Iterable[float], digits: int = 1) -> str:
    """A median, and between what it lies."""
    told = sorted(values)
    middle = statistics.median(told)
    return f"{middle:.{digits}f} ({told[0]:.{digits}f}-{told[-1]:.{digits}f})"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description="A token at a quarter of the slots.")
    default = Path(tempfile.gettempdir()) / "martlet-peers"
    parser.add_argument("--folder", type=Path, default=default, help="where the model is, or goes")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rate-mb", type=numbers, default=[0, 400], help="0: the disk as it is")
    parsed = parser.parse_args()
    if not fio_installed():
        print("Not run: fio is not installed")
        return
    path = make_container(parsed.folder, Shape())
    for rate in parsed.rate_mb:
        held = reads_held(path, rate * 1_000_000) if rate else nullcontext()
        name = f"Reads held to {rate} MB/s" if rate else "The disk as it is"
        print(f"{name}: {parsed.rounds} rounds of {TOKENS} tokens, load {os.getloadavg()[0]:.1f}")
        try:
            with held:
                rounds = measure(path, parsed.rounds)
        except NoController as error:
            print(f"  Not run: {error}")
        else:
            show(rounds)


def numbers(text: str) -> list[int]:
    """Of a list in an argument."""
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    main()
