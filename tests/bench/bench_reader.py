"""Expert reads: the native reader, the one of Python threads, and fio where it is installed.

    python -m tests.bench reader [folder]     # on the disk of `folder`

Blocks of one expert of the 80B, each read once from a file that is out of the page cache, four in
flight, scattered over nine places as into slots; paired rounds, then medians. CPU is the process's
time over the clock's. The system's part, the way through the page cache, is the same for all.
"""

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path

from engine.experts.reader import ExpertReader, ReadRequest, ThreadedReader
from engine.native.core import native_core
from engine.native.reader import NativeReader
from tests.bench.fio import fio, fio_installed

BLOCK = 1_769_472  # gate, up and down, 4 bits in groups of 64
SECTIONS = (524_288, 32_768, 32_768) * 3
BLOCKS, IN_FLIGHT, ROUNDS = 600, 4, 5

Rate = tuple[float, float, float]  # bytes/s; shares of a core: the program's own, the system's


def evict(path: Path) -> None:
    """Out of the page cache, so that the disk is read."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def timed(run: Callable[[], None]) -> Rate:
    """Run once."""
    start, before = time.perf_counter(), os.times()
    run()
    elapsed, after = time.perf_counter() - start, os.times()
    own, system = after.user - before.user, after.system - before.system
    return BLOCKS * BLOCK / elapsed, own / elapsed, system / elapsed


def read_all(reader: ExpertReader, path: Path) -> None:
    """Every block once, in batches of ten experts as one layer asks for them."""
    slots = [tuple(memoryview(bytearray(size)) for size in SECTIONS) for _ in range(10)]
    order = random.sample(range(BLOCKS), BLOCKS)
    for start in range(0, BLOCKS, 10):
        requests = [
            ReadRequest(0, block, path, block * BLOCK, views)
            for block, views in zip(order[start : start + 10], slots, strict=True)
        ]
        answers = reader.submit(requests).wait()
        assert not any(answers), answers


def main() -> None:
    """Print the figures."""
    core = native_core()
    assert core is not None
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        path = Path(folder) / "experts.bin"
        with path.open("wb") as file:
            for _ in range(BLOCKS):
                file.write(random.randbytes(BLOCK))
        readers: dict[str, ExpertReader] = {
            "native": NativeReader(core, IN_FLIGHT),
            "python": ThreadedReader(IN_FLIGHT),
        }
        cases: dict[str, Callable[[], Rate]] = {
            name: lambda reader=reader: timed(lambda: read_all(reader, path))  # type: ignore[misc]
            for name, reader in readers.items()
        }
        if fio_installed():
            cases["fio"] = lambda: astuple(fio(path, BLOCK, BLOCKS, IN_FLIGHT))
        results: dict[str, list[Rate]] = {name: [] for name in cases}
        for _ in range(ROUNDS):
            for name, run in cases.items():
                evict(path)
                results[name].append(run())
        for reader in readers.values():
            reader.close()
    for name, rates in results.items():
        speed, own, system = (statistics.median(figures) for figures in zip(*rates, strict=True))
        print(f"  {name}: {speed / 1e6:.0f} MB/s, CPU {own:.0%} own, {system:.0%} system")
    if "fio" in results:
        pairs = zip(results["native"], results["fio"], strict=True)
        ratios = sorted(ours[0] / theirs[0] for ours, theirs in pairs)
        print(f"  native / fio: {statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})")


if __name__ == "__main__":
    main()
