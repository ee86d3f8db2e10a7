"""Reads past the page cache, by both readers: the same bytes, and nothing left in the cache."""

import fcntl
import mmap
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import engine.experts.reader
from engine.container.files import PAGE_BYTES, opened, without_page_cache
from engine.experts.files import read_request
from engine.experts.reader import ExpertReader, ReadRequest, ThreadedReader
from engine.experts.slots import allocate_slots
from engine.native.core import native_core
from engine.native.reader import NativeReader
from tests.engine.experts.handmade import make_files, make_layout, slot_contents
from tests.engine.page_cache import cached_bytes

BLOBS, BLOB = 16, 5 * PAGE_BYTES
SIZES = (2 * PAGE_BYTES, 3 * PAGE_BYTES)
WHOLE_PAGES = (
    ("gate_proj.weight", "F16", (32, 64)),
    ("up_proj.weight", "F16", (32, 64)),
    ("down_proj.weight", "F16", (64, 32)),
)


@pytest.fixture(params=["python", "native"])
def reader(request: pytest.FixtureRequest) -> Iterator[ExpertReader]:
    reader: ExpertReader
    if request.param == "python":
        reader = ThreadedReader(4, direct=True)
    else:
        core = native_core()
        if core is None:
            pytest.skip("there is no native core")
        reader = NativeReader(core, 4, direct=True)
    yield reader
    reader.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file whose bytes have left the page cache."""
    path = tmp_path / "layer_00.bin"
    path.write_bytes(random.Random(0).randbytes(BLOBS * BLOB))
    with opened(path) as descriptor:
        os.fsync(descriptor)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    return path


def request(path: Path, number: int, skipped: int = 0) -> ReadRequest:
    """Into memory that begins `skipped` bytes after a page does."""
    views = (
        memoryview(mmap.mmap(-1, size + PAGE_BYTES))[skipped : skipped + size] for size in SIZES
    )
    return ReadRequest(0, number, path, number * BLOB, tuple(views), direct=True)


def is_whole(request: ReadRequest) -> bool:
    end = request.offset + BLOB
    return b"".join(request.views) == request.path.read_bytes()[request.offset : end]


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux which pages it has")
def test_nothing_is_left_in_the_page_cache(reader: ExpertReader, path: Path) -> None:
    with opened(path) as descriptor:
        if cached_bytes(descriptor, BLOBS * BLOB) or not without_page_cache(descriptor):
            pytest.skip("this file system reads by way of the page cache alone")
        requests = [request(path, number) for number in range(BLOBS)]
        assert not any(reader.submit(requests).wait())
        assert cached_bytes(descriptor, BLOBS * BLOB) == 0
        assert all(map(is_whole, requests))


def test_what_is_not_aligned_after_all_comes_by_the_cache(reader: ExpertReader, path: Path) -> None:
    for skipped in (1, 0, 64):
        requests = [request(path, number, skipped) for number in range(BLOBS)]
        assert not any(reader.submit(requests).wait())
        assert all(map(is_whole, requests))


def test_requests_that_ask_for_it_and_others_share_a_reader(
    reader: ExpertReader, path: Path
) -> None:
    small = ReadRequest(0, 1, path, 777, (memoryview(bytearray(55)),))
    large = request(path, 3)
    assert not any(reader.submit([small, large]).wait())
    assert bytes(small.views[0]) == path.read_bytes()[777:832]
    assert is_whole(large)


def test_where_the_file_system_cannot_the_cache_serves(
    reader: ExpertReader, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.experts.reader, "without_page_cache", lambda descriptor: False)
    last = request(path, BLOBS - 1)
    assert not any(reader.submit([last]).wait())
    assert is_whole(last)


def test_a_reader_that_is_not_direct_leaves_the_descriptor_alone(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int) -> bool:
        raise AssertionError("nobody asked for that")

    monkeypatch.setattr(engine.experts.reader, "without_page_cache", refuse)
    reader, first = ThreadedReader(2), request(path, 0)
    assert not any(reader.submit([first]).wait())
    assert is_whole(first)
    reader.close()


def test_slots_of_whole_pages_are_filled_directly(reader: ExpertReader, tmp_path: Path) -> None:
    layout = make_layout(WHOLE_PAGES, stride=4 * PAGE_BYTES)
    files, slots = make_files(tmp_path, layout), allocate_slots(layout, 0, 0, 3)
    requests = [read_request(files, 1, expert, slots, expert - 4) for expert in (4, 5, 6)]
    assert all(request.direct for request in requests)
    assert not any(reader.submit(requests).wait())
    assert [slot_contents(slots, i) for i in range(3)] == [files.blob(1, 4 + i) for i in range(3)]


@pytest.mark.skipif(not hasattr(os, "O_DIRECT"), reason="macOS has a call of its own for this")
def test_such_a_descriptor_is_direct(path: Path) -> None:
    with opened(path) as descriptor:
        assert without_page_cache(descriptor) == bool(
            fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_DIRECT
        )
