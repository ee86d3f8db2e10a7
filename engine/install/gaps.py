"""Gaps: the bytes of a shard that a container has no place for, kept until the shard is checked.

Its header and what a text model leaves out lie in a sparse file at the shard's own offsets, so that
a shard can be hashed again after a kill although most of it lies in the container already.
"""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from engine.container.container import SIDECAR
from engine.container.durable import write_at
from engine.container.files import CHUNK_BYTES, opened, read_into
from engine.container.plan import Move

FOLDER = f"{SIDECAR}gaps"


def gaps(moves: Sequence[Move], start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The ranges within `start` to `stop` that none of `moves` (in order) takes."""
    at = start
    for move in moves:
        if move.offset >= stop:
            break
        if move.offset > at:
            yield at, move.offset
        at = max(at, move.end)
    if at < stop:
        yield at, stop


def keep(folder: Path, shard: str, moves: Sequence[Move], offset: int, data: memoryview) -> None:
    """Write what `data`, the shard's bytes at `offset`, has of gaps."""
    parts = [
        (start, data[start - offset : stop - offset])
        for start, stop in gaps(moves, offset, offset + len(data))
    ]
    if parts:
        path = _path(folder, shard)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        write_at(path, parts)


def stand(folder: Path, shard: str) -> bool:
    """Whether the shard is not checked yet: its header, at least, is a gap."""
    return _path(folder, shard).is_file()


def drop(folder: Path, shard: str) -> None:
    """The shard is checked, or comes again."""
    _path(folder, shard).unlink(missing_ok=True)


def drop_all(folder: Path) -> None:
    """The container is complete."""
    shutil.rmtree(folder / FOLDER, ignore_errors=True)


def read_back(folder: Path, shard: str, moves: Sequence[Move], stop: int) -> Iterator[bytes]:
    """The shard's first `stop` bytes, put together from where they went.

    Raises BadContainer where a file is missing or ends early.
    """
    at = 0
    for move in moves:
        if at < move.offset:
            yield from _gap(folder, shard, at, min(move.offset, stop))
        if move.offset >= stop:
            return
        yield from _moved(folder, move, stop)
        at = move.end
    yield from _gap(folder, shard, at, stop)


def _gap(folder: Path, shard: str, start: int, stop: int) -> Iterator[bytes]:
    for at in range(start, stop, CHUNK_BYTES):
        yield _read(_path(folder, shard), at, min(at + CHUNK_BYTES, stop))


def _moved(folder: Path, move: Move, stop: int) -> Iterator[bytes]:
    for target, start, end in move.pieces(move.offset, stop):
        for at in range(0, end - start, CHUNK_BYTES):
            yield _read(
                folder / move.target, target + at, target + min(at + CHUNK_BYTES, end - start)
            )


def _read(path: Path, start: int, stop: int) -> bytes:
    data = bytearray(stop - start)
    with opened(path) as fd:
        read_into(fd, memoryview(data), start, path)
    return bytes(data)


def _path(folder: Path, shard: str) -> Path:
    return folder / FOLDER / shard
