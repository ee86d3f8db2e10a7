"""Writeback: what is written goes to the disk while the rest is still on its way.

Linux lets gigabytes wait in memory before it begins, and the sync at the end then waits for all
of them; macOS sends a file that grows from front to back by itself. Source: posix_fadvise(2).
"""

import os
from contextlib import suppress
from pathlib import Path

STRETCH_BYTES = 8 << 20  # long enough for the disk to take it in one go


class Writeback:
    """Of one file that grows from `at`. Promises nothing: a sync still has to follow."""

    def __init__(self, path: Path, at: int) -> None:
        self._path = path
        self._begun = at

    def reached(self, at: int) -> None:
        """All bytes before `at` are written. Waits only while the disk's queue is full."""
        if at - self._begun >= STRETCH_BYTES:
            with suppress(OSError):  # no more than advice; the sync says what is wrong
                _begin(self._path, self._begun, at)
            self._begun = at


def _begin(path: Path, start: int, stop: int) -> None:
    if not hasattr(os, "posix_fadvise"):
        return
    fd = os.open(path, os.O_RDONLY)
    try:  # what is not on the disk is sent there, not dropped
        os.posix_fadvise(fd, start, stop - start, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)
