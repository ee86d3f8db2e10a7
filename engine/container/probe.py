"""Probe: how fast a disk gives experts, measured for five seconds as the engine reads them.

Several threads, one expert a read, every place once: a disk's own cache must not answer. Where no
model lies on the volume yet, a file is written for it and deleted again.
"""

import contextlib
import fcntl
import os
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.container.durable import disk_faults, sync
from engine.container.files import without_readahead
from engine.container.volume import nearest, volume_of

READ_BYTES = 1_769_472  # an expert of the 4-bit models
READERS = 4
SECONDS = 5.0
_WRITTEN_BYTES = 600 * READ_BYTES
_LEAST_BYTES = 100 * READ_BYTES  # of a file worth reading
_MOST_FILES = 64


@dataclass(frozen=True, slots=True)
class Probe:
    """What was read, in how long."""

    bytes_read: int
    seconds: float

    @property
    def bytes_per_s(self) -> float:
        """The disk's rate."""
        return self.bytes_read / self.seconds


def probe_disk(folder: Path, seconds: float = SECONDS) -> Probe | None:
    """The read speed of the volume that `folder` is (or will be) on.

    None where nothing large lies there and too little is free to write something.
    Raises MartletError where the disk fails.
    """
    with disk_faults(folder):
        files = list(_large_files(folder))
        if files:
            return _measure(files, seconds)
        if volume_of(folder).free_bytes < 4 * _WRITTEN_BYTES:
            return None
        with _written(nearest(folder)) as path:
            return _measure([path], seconds)


def _large_files(folder: Path) -> Iterator[Path]:
    """Files of installed models, down to experts two folders below."""
    count = 0
    for pattern in ("*/packed_experts/layer_*.bin", "*/*/packed_experts/layer_*.bin"):
        for path in sorted(folder.glob(pattern)):
            if path.is_file() and path.stat().st_size >= _LEAST_BYTES:
                yield path
                count += 1
                if count == _MOST_FILES:
                    return


@contextlib.contextmanager
def _written(folder: Path) -> Iterator[Path]:
    """A file that lies on the disk and not in memory."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".martlet-probe-") as file:
        block = os.urandom(READ_BYTES)
        for _ in range(_WRITTEN_BYTES // READ_BYTES):
            file.write(block)
        file.flush()
        sync(file.fileno())
        yield Path(file.name)


def _measure(files: list[Path], seconds: float) -> Probe:
    places = [
        (number, offset)
        for number, path in enumerate(files)
        for offset in range(0, path.stat().st_size - READ_BYTES + 1, READ_BYTES)
    ]
    random.Random(0).shuffle(places)
    with contextlib.ExitStack() as stack:
        fds = [stack.enter_context(_uncached(path)) for path in files]
        reads = _Reads(fds, places, seconds)
        threads = [threading.Thread(target=reads.run) for _ in range(READERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return reads.result()


@contextlib.contextmanager
def _uncached(path: Path) -> Iterator[int]:
    """A descriptor whose reads come from the disk, as far as the system can be told."""
    fd = os.open(path, os.O_RDONLY)
    try:
        without_readahead(fd)
        if hasattr(fcntl, "F_NOCACHE"):
            fcntl.fcntl(fd, fcntl.F_NOCACHE, 1)
        elif hasattr(os, "posix_fadvise"):
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        yield fd
    finally:
        os.close(fd)


class _Reads:
    """Places to read, shared by the readers until time is up."""

    def __init__(self, fds: list[int], places: list[tuple[int, int]], seconds: float) -> None:
        self._fds = fds
        self._places = iter(places)
        self._lock = threading.Lock()
        self._start = time.perf_counter()
        self._deadline = self._start + seconds
        self._end = self._start
        self._bytes = 0
        self._fault: OSError | None = None

    def run(self) -> None:
        """One reader."""
        buffer = bytearray(READ_BYTES)
        while (place := self._next()) is not None:
            number, offset = place
            try:
                count = os.preadv(self._fds[number], [buffer], offset)
            except OSError as fault:
                self._fault = fault
                return
            with self._lock:
                self._bytes += count
                self._end = time.perf_counter()

    def result(self) -> Probe:
        """What all readers did. Raises OSError where one could not."""
        if self._fault is not None:
            raise self._fault
        return Probe(self._bytes, max(self._end - self._start, 1e-6))

    def _next(self) -> tuple[int, int] | None:
        with self._lock:
            return next(self._places, None) if time.perf_counter() < self._deadline else None
