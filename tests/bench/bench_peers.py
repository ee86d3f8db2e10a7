"""Martlet, llama.cpp and mlx-lm with the same weights, tokens and memory, in one run.

    uv run --with gguf,xllamacpp python -m tests.bench.bench_peers [--folder DIR] [--rounds 3]
        [--spread 0.4]

An 8-layer cut of the 80B (8 x 256 experts, top-10; 3.9 GB a format, made in DIR unless it is there:
a spread of the routing is a DIR of its own). Rounds are
interleaved; ratios are taken inside a round, then the median. First everything is resident and
warm. Then a control group holds each engine to a quarter of the model, page cache included; the
file is evicted first, and reads are held to 400 MB/s so that rounds can be compared. Put DIR on a
file system with ordinary readahead (128 KiB): llama.cpp reads through a map, and a readahead of
megabytes would have it read the model again with every token.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from tests.bench.cgroup import MemoryGroup, NoController, memory_group
from tests.bench.synthetic import Shape, make_container

PROMPT, SHORT_PROMPT, DECODE = 512, 64, 48
MLX_PROMPT, MLX_DECODE = 12, 8  # mlx-lm's rates do not depend on more, and it is slow
READ_RATE = 400_000_000
BLOCK_IO = Path("/sys/fs/cgroup/blkio")
OVERHEAD = 20_000_000  # pages of libraries, which the budget leaves out and the group counts


@dataclass(frozen=True, slots=True)
class Rates:
    """Of one run: tokens/s of the prompt and of decode, MB read from storage a decoded token."""

    prompt: float
    decode: float
    mb: float


Round = dict[str, Rates]


def run(engine: str, model: Path, *arguments: int, group: Sequence[Path] = ()) -> Rates:
    """One process, in the control groups of these folders."""

    def enter() -> None:
        for folder in group:
            (folder / "cgroup.procs").write_text(str(os.getpid()))

    command = [sys.executable, "-m", "tests.bench.peer_runs", engine, str(model)]
    done = subprocess.run(
        [*command, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_WAIT_POLICY": "passive"},  # spinning threads starve neighbours
        preexec_fn=enter,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{engine} ended with {done.returncode}: {done.stderr[-2000:]}")
    told = json.loads(done.stdout.strip().splitlines()[-1])
    median_ms = statistics.median(told["times_ms"])
    return Rates(arguments[0] / told["prompt_s"], 1e3 / median_ms, told["mb_per_token"])


def evict(path: Path) -> None:
    """Drop a file's, or a folder's files', clean pages from the cache."""
    for file in [path] if path.is_file() else filter(Path.is_file, path.rglob("*")):
        with open(file, "rb") as opened:
            os.fdatasync(opened.fileno())
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def warm(path: Path) -> None:
    """Have a file's pages in the cache."""
    with open(path, "rb", buffering=0) as opened:
        while opened.read(1 << 24):
            pass


@contextmanager
def capped(limit_bytes: int, model: Path) -> Iterator[list[Path]]:
    """Folders of control groups: memory, and reads of the device under `model`."""
    with memory_group("martlet-peers") as group, _read_limit(group, model) as reads:
        group.limit(limit_bytes)
        yield [group.folder, *reads]


@contextmanager
def _read_limit(group: MemoryGroup, model: Path) -> Iterator[list[Path]]:
    device = model.stat().st_dev
    numbers = f"{os.major(device)}:{os.minor(device)}"
    if group.version == 2:
        (group.folder / "io.max").write_text(f"{numbers} rbps={READ_RATE}")
        yield []
        return
    folder = BLOCK_IO / group.folder.name
    folder.mkdir()
    try:
        (folder / "blkio.throttle.read_bps_device").write_text(f"{numbers} {READ_RATE}")
        yield [folder]
    finally:
        folder.rmdir()


def resident(models: "Models") -> Round:
    """Warm, everything in memory."""
    warm(models.gguf)
    told = {"llama.cpp": run("llama.cpp", models.gguf, PROMPT, DECODE)}
    told["Martlet"] = run("martlet", models.container, PROMPT, DECODE)
    told["mlx-lm"] = run("mlx-lm", models.checkpoint, MLX_PROMPT, MLX_DECODE)
    return told


def within_a_quarter(models: "Models") -> Round:
    """Cold, with a quarter of the model's size: a long prompt, and decode after a short one."""
    told: Round = {}
    for name, model in (("llama.cpp", models.gguf), ("Martlet", models.container)):
        long, short = (_capped(name, model, models, prompt) for prompt in (PROMPT, SHORT_PROMPT))
        told[name] = replace(short, prompt=long.prompt)
    return told


def _capped(name: str, model: Path, models: "Models", prompt: int) -> Rates:
    limit = models.gguf.stat().st_size // 4
    memory = [limit - OVERHEAD] if name == "Martlet" else []
    evict(model)
    with capped(limit, model) as group:
        return run(name.lower(), model, prompt, DECODE, *memory, group=group)


class Models:
    """The same weights in three forms, made unless they are there."""

    def __init__(self, folder: Path, spread: float) -> None:
        self.checkpoint, self.gguf = folder / "mlx", folder / "model.gguf"
        self.container = make_container(folder, Shape(spread=spread))
        if not self.gguf.exists():
            from tests.bench.gguf_model import convert

            partial = self.gguf.with_suffix(".partial")
            convert(self.checkpoint, partial)
            partial.rename(self.gguf)


def show(title: str, rounds: list[Round]) -> None:
    """Medians, and ratios inside a round."""
    print(f"{title}, {len(rounds)} rounds, load {os.getloadavg()[0]:.1f}")
    for name in rounds[0]:
        told = [each[name] for each in rounds]
        line = f"  {name:10} prompt {_median(r.prompt for r in told):7.2f} tokens/s"
        line += f", decode {_median(r.decode for r in told):6.2f} tokens/s"
        line += f", {_median(r.mb for r in told):6.1f} MB/token"
        if name != "Martlet":
            prompt = _median(each["Martlet"].prompt / each[name].prompt for each in rounds)
            decode = _median(each["Martlet"].decode / each[name].decode for each in rounds)
            line += f"; Martlet: {prompt:.2f} x and {decode:.2f} x"
        print(line, flush=True)


def _median(values: Iterable[float]) -> float:
    return statistics.median(values)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    default = Path(tempfile.gettempdir()) / "martlet-peers"
    parser.add_argument("--folder", type=Path, default=default)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--spread", type=float, default=0.4, help="of a model that is made")
    parsed = parser.parse_args()
    if missing := [name for name in ("gguf", "xllamacpp") if find_spec(name) is None]:
        print(f"Not run: {' and '.join(missing)} not installed; see {__file__}")
        return
    models = Models(parsed.folder, parsed.spread)
    in_memory = [resident(models) for _ in range(parsed.rounds)]
    show("Resident, warm", in_memory)
    try:
        cold = [within_a_quarter(models) for _ in range(parsed.rounds)]
    except NoController as error:
        print(f"Not run: {error}")
        return
    show("A quarter of the model", cold)
    for name in cold[0]:
        alone = [each[name] for each in in_memory]
        told = [each[name] for each in cold]
        bound = _median(bound_ratio(*pair) for pair in zip(told, alone, strict=True))
        faster = _median(rates.prompt / rates.decode for rates in told)
        print(f"  {name:10} a token takes {bound:.2f} x the larger of computing and reading;")
        print(f"  {'':10} a prompt is read {faster:.1f} x as fast as tokens are written")


def bound_ratio(cold: Rates, in_memory: Rates) -> float:
    """A token's time over the larger of its computation alone and its bytes at the disk's rate."""
    return 1 / cold.decode / max(1 / in_memory.decode, cold.mb * 1e6 / READ_RATE)


if __name__ == "__main__":
    main()
