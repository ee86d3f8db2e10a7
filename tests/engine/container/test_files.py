"""Opening files that nobody vouches for, and reading nothing but what was asked for."""

import ctypes
import mmap
import os
import sys
from pathlib import Path

import pytest

from engine.container.files import opened, without_readahead


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux which pages it has")
def test_nothing_is_read_ahead(tmp_path: Path) -> None:
    path, size, read = tmp_path / "experts.bin", 1 << 24, 1 << 20
    path.write_bytes(bytes(size))
    with opened(path) as descriptor:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        if _cached_bytes(descriptor, size):
            pytest.skip("this file system keeps its files in memory")
        without_readahead(descriptor)
        os.pread(descriptor, read, 4 * read)
        os.pread(descriptor, read, 5 * read)  # to the system, the beginning of a stream
        assert _cached_bytes(descriptor, size) == 2 * read


def _cached_bytes(descriptor: int, size: int) -> int:
    """Of the file, in the page cache: mincore(2)."""
    mincore = ctypes.CDLL(None, use_errno=True).mincore
    mincore.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
    with mmap.mmap(descriptor, size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as pages:
        there = ctypes.create_string_buffer(size // mmap.PAGESIZE)
        start = ctypes.c_char.from_buffer(pages)
        failed = mincore(ctypes.addressof(start), size, there)
        del start  # a map that something points into cannot be closed
        assert not failed, os.strerror(ctypes.get_errno())
        return sum(byte & 1 for byte in there.raw) * mmap.PAGESIZE
