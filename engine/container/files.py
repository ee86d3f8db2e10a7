"""Files that nobody vouches for: only regular ones are opened, reads are bounded and complete.

A pipe or a device under a file's name would hang or never end; a short read is not the end.
"""

import fcntl
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import BadContainer, ModelNotFound

REDOWNLOAD = "Download or repack the model again."
CHUNK_BYTES = 1 << 22  # of a copy, a hash or a comparison
PAGE_BYTES = 4096  # what reads past the page cache are aligned to: no disk asks for more
_F_RDAHEAD, _F_NOCACHE = 45, 48  # <sys/fcntl.h> of macOS; Python has no names for them
_READ_BYTES = 1 << 26  # of one system call: macOS refuses 2 GiB and more


def names_in(folder: Path) -> frozenset[str]:
    """What stands in a folder. Raises ModelNotFound where there is none."""
    try:
        return frozenset(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ModelNotFound(f"There is no folder at {folder}.", "Check the path.") from error
    except OSError as error:
        raise _unreadable(folder, error) from error


def file_size(path: Path) -> int:
    """The size of a regular file in bytes; links are followed. Raises BadContainer otherwise."""
    try:
        status = os.stat(path)
    except FileNotFoundError as error:
        raise BadContainer(f"{path} is missing.", REDOWNLOAD) from error
    except OSError as error:
        raise _unreadable(path, error) from error
    if not stat.S_ISREG(status.st_mode):
        raise BadContainer(f"{path} is not a regular file.", REDOWNLOAD)
    return status.st_size


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """A descriptor for reading a regular file. Every fault of the system becomes BadContainer."""
    file_size(path)
    try:
        fd = os.open(path, os.O_RDONLY)
        try:
            yield fd
        finally:
            os.close(fd)
    except OSError as error:
        raise _unreadable(path, error) from error


def without_readahead(descriptor: int) -> None:
    """For reads that lie anywhere: what follows them would be read for nothing."""
    if sys.platform == "darwin":
        fcntl.fcntl(descriptor, _F_RDAHEAD, 0)
    elif hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)


def without_page_cache(descriptor: int) -> bool:
    """Reads leave nothing in the page cache and, on Linux, are not copied out of it.

    There they must be aligned to PAGE_BYTES: offset, addresses and sizes. Whether the file system
    can: some have no other way than the cache.
    """
    try:
        if sys.platform == "darwin":
            fcntl.fcntl(descriptor, _F_NOCACHE, 1)
        else:
            flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
            fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_DIRECT)
    except OSError:
        return False
    return True


def _unreadable(path: Path, error: OSError) -> BadContainer:
    return BadContainer(f"{path} cannot be read: {error.strerror}.", "Check the disk.")


def read_bytes(path: Path, limit: int) -> bytes:
    """The bytes of a small file. Raises BadContainer where it is missing or too large."""
    size = file_size(path)
    if size > limit:
        raise BadContainer(f"{path} has {size} bytes, at most {limit} are expected.", REDOWNLOAD)
    data = bytearray(size)
    with opened(path) as fd:
        read_into(fd, memoryview(data), 0, path)
    return bytes(data)


def read_into(fd: int, target: memoryview, offset: int, path: Path) -> None:
    """Fill `target` (bytes) from `offset`. Raises BadContainer where the file ends early."""
    done = 0
    while done < len(target):
        count = os.preadv(fd, [target[done : done + _READ_BYTES]], offset + done)
        if count == 0:
            raise BadContainer(f"{path} ends before byte {offset + done + 1}.", REDOWNLOAD)
        done += count


def chunks(path: Path, start: int, stop: int) -> Iterator[tuple[int, memoryview]]:
    """(offset, bytes) of a range, a few MiB at a time, in one buffer that is used again."""
    buffer = memoryview(bytearray(min(CHUNK_BYTES, max(stop - start, 0))))
    with opened(path) as fd:
        for offset in range(start, stop, CHUNK_BYTES):
            part = buffer[: min(CHUNK_BYTES, stop - offset)]
            read_into(fd, part, offset, path)
            yield offset, part
