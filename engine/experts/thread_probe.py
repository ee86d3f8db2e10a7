"""How many threads read a volume fastest: a short measurement, made once a process and volume.

Four saturate most disks; the fastest take eight, and the slowest lose by them. So eight have to
win clearly. Reads are of experts, at random, past the system's cache: what is measured is the disk.
Reads that go past it anyway are measured as they will be made: without copies, fewer threads do.
"""

import mmap
import os
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from typing import Protocol

from engine.container.files import PAGE_BYTES, opened, without_page_cache, without_readahead
from engine.container.layout import ExpertLayout
from engine.errors import MartletError

FEW, MANY = 4, 8
GAIN = 1.1  # of many threads over few, at least
SPELL_S = 0.06
ROUNDS = 2
PLACES = 512  # for a spell: more than any disk reads in it
LEAST_BYTES = 1_000_000_000  # of all experts: smaller models are read once and stay in memory

_chosen: dict[tuple[int, bool], int] = {}  # threads by device number, and for direct reads


class Files(Protocol):
    """The part of a container that is read."""

    @property
    def layout(self) -> ExpertLayout: ...

    def layer_path(self, layer: int) -> Path: ...


def threads_for(files: Files, *, direct: bool = False) -> int:
    """Reader threads for the volume that the experts lie on. A disk that fails gets the fewest."""
    layout = files.layout
    if layout.layer_count * layout.layer_bytes < LEAST_BYTES:
        return FEW
    try:
        volume = files.layer_path(0).stat().st_dev, direct
        if volume not in _chosen:
            _chosen[volume] = _measured(files, direct)
    except (MartletError, OSError):
        return FEW
    return _chosen[volume]


def read_uncached(path: Path, offset: int, size: int, *, direct: bool = False) -> int:
    """Bytes read, from the disk as far as the system lets us say so.

    Into memory that is gone afterwards: the C library would keep a blob for every thread.
    """
    with opened(path) as descriptor, mmap.mmap(-1, size) as room:
        without_readahead(descriptor)
        pages = not (offset % PAGE_BYTES or size % PAGE_BYTES)
        able = sys.platform == "darwin" or (direct and pages)
        if not (able and without_page_cache(descriptor)) and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(descriptor, offset, size, os.POSIX_FADV_DONTNEED)
        return os.preadv(descriptor, [room], offset)


def places(files: Files) -> Iterator[tuple[Path, int]]:
    """Every expert's file and offset, in an order that no disk foresees."""
    layout = files.layout
    count = layout.layer_count * layout.expert_count
    for place in random.Random(0).sample(range(count), count):
        layer, expert = divmod(place, layout.expert_count)
        yield files.layer_path(layer), expert * layout.stride


def _measured(files: Files, direct: bool) -> int:
    """The rates of both, in turns; the best of each counts."""
    ahead = cycle(places(files))
    best = dict.fromkeys((FEW, MANY), 0.0)
    for _ in range(ROUNDS):
        for count in best:
            best[count] = max(best[count], _rate(ahead, files.layout.stride, count, direct))
    return MANY if best[MANY] > GAIN * best[FEW] else FEW


def _rate(ahead: Iterator[tuple[Path, int]], size: int, threads: int, direct: bool) -> float:
    """Bytes a second, until the spell is over; every place is read once."""
    lines = [list(islice(ahead, PLACES // threads)) for _ in range(threads)]
    started = time.perf_counter()
    deadline = started + SPELL_S

    def run(line: list[tuple[Path, int]]) -> int:
        read = 0
        for path, offset in line:
            if time.perf_counter() > deadline:
                break
            read += read_uncached(path, offset, size, direct=direct)
        return read

    with ThreadPoolExecutor(threads) as pool:
        total = sum(pool.map(run, lines))
    return total / (time.perf_counter() - started)
