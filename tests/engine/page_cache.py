"""What Linux's page cache holds of a file: mincore(2)."""

import ctypes
import mmap
import os


def cached_bytes(descriptor: int, size: int) -> int:
    """Of the first `size` bytes."""
    mincore = ctypes.CDLL(None, use_errno=True).mincore
    mincore.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
    with mmap.mmap(descriptor, size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as pages:
        there = ctypes.create_string_buffer(size // mmap.PAGESIZE)
        start = ctypes.c_char.from_buffer(pages)
        failed = mincore(ctypes.addressof(start), size, there)
        del start  # a map that something points into cannot be closed
        assert not failed, os.strerror(ctypes.get_errno())
        return sum(byte & 1 for byte in there.raw) * mmap.PAGESIZE
