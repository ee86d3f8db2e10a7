"""Files that survive a crash: what was reported written is on the disk, whole or not at all."""

import fcntl
import os
from pathlib import Path

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
