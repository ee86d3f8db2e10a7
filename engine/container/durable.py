"""Files that survive a crash: what was reported written is on the disk, whole or not at all.

A disk that is full or failing becomes an error that a person can act on.
"""

import errno
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import MartletError, NotEnoughDisk

TEMPORARY = ".tmp"  # suffix of a file that is not yet the one it will be


def replace_file(path: Path, data: bytes) -> None:
    """Put `data` at `path` in one step: a crash leaves the old file or the new one."""
    temporary = path.with_name(path.name + TEMPORARY)
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        sync(file.fileno())
    temporary.replace(path)
    sync_path(path.parent)


def sync(fd: int) -> None:
    """Force a file or directory to the medium; on macOS plain fsync stops at the drive's cache.

    Source: the macOS manual page fsync(2). Some volumes do not know F_FULLFSYNC.
    """
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        try:
            fcntl.fcntl(fd, full)
            return
        except OSError:
            pass  # fsync below reports what is really wrong
    os.fsync(fd)


def sync_path(path: Path) -> None:
    """Force the file or directory at `path` to the medium."""
    fd = os.open(path, os.O_RDONLY)
    try:
        sync(fd)
    finally:
        os.close(fd)


def write_at(path: Path, parts: Iterable[tuple[int, memoryview]]) -> None:
    """Write (offset, bytes) into a file that is there; nothing is on the medium until a sync."""
    fd = os.open(path, os.O_WRONLY)
    try:
        for offset, data in parts:
            while data:
                count = os.pwrite(fd, data, offset)
                data, offset = data[count:], offset + count
    finally:
        os.close(fd)


def check_space(folder: Path, needed: int) -> None:
    """Raise NotEnoughDisk where the volume of `folder` has less than `needed` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise NotEnoughDisk(
            f"{folder} needs {needed / 1e9:.2f} GB, its volume has {free / 1e9:.2f} GB free.",
            f"Free {(needed - free) / 1e9:.2f} GB or choose another volume.",
        )


@contextmanager
def disk_faults(folder: Path) -> Iterator[None]:
    """Turn what the system says of a full or failing disk into NotEnoughDisk or MartletError."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NotEnoughDisk(
                f"The volume of {folder} is full.",
                "Free some space and run it again: it goes on where it stopped.",
            ) from error
        raise MartletError(
            f"{error.filename or folder} cannot be written: {error.strerror}.",
            "Check the disk and its permissions, then run it again.",
        ) from error
