"""Opening files that nobody vouches for, and reading nothing but what was asked for."""

import errno
import fcntl
import os
import sys
from pathlib import Path

import pytest

from engine.container.files import opened, without_page_cache, without_readahead
from tests.engine.page_cache import cached_bytes


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux which pages it has")
def test_nothing_is_read_ahead(tmp_path: Path) -> None:
    path, size, read = tmp_path / "experts.bin", 1 << 24, 1 << 20
    path.write_bytes(bytes(size))
    with opened(path) as descriptor:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        if cached_bytes(descriptor, size):
            pytest.skip("this file system keeps its files in memory")
        without_readahead(descriptor)
        os.pread(descriptor, read, 4 * read)
        os.pread(descriptor, read, 5 * read)  # to the system, the beginning of a stream
        assert cached_bytes(descriptor, size) == 2 * read


def test_a_file_system_that_has_no_other_way_than_the_cache_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, command: int, argument: int = 0) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    path = tmp_path / "experts.bin"
    path.write_bytes(b"whole")
    monkeypatch.setattr(fcntl, "fcntl", refuse)
    with opened(path) as descriptor:
        assert not without_page_cache(descriptor)
        assert os.pread(descriptor, 5, 0) == b"whole"
