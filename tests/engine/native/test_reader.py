"""NativeReader over real files. Faults of a disk are injected in C (driver.c)."""

import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from engine.errors import ReadFailed
from engine.experts.reader import ReadRequest
from engine.native.core import NativeCore
from engine.native.reader import NativeReader

BLOB = 1000
BLOBS = 64


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "layer_03.bin"
    path.write_bytes(random.Random(0).randbytes(BLOB * BLOBS))
    return path


@pytest.fixture
def reader(core: NativeCore) -> Iterator[NativeReader]:
    reader = NativeReader(core, 4)
    yield reader
    reader.close()


def request(path: Path, expert: int, sizes: Sequence[int] = (600, 0, 1, 399)) -> ReadRequest:
    views = tuple(memoryview(bytearray(size)) for size in sizes)
    return ReadRequest(3, expert, path, expert * BLOB, views)


def filled(request: ReadRequest) -> bytes:
    return b"".join(request.views)


def expected(path: Path, request: ReadRequest) -> bytes:
    return path.read_bytes()[request.offset : request.offset + BLOB]


def test_requests_are_scattered_exactly(reader: NativeReader, path: Path) -> None:
    requests = [request(path, expert) for expert in reversed(range(BLOBS))]
    batch = reader.submit(requests)
    assert batch.wait() == (None,) * BLOBS
    assert batch.wait() == (None,) * BLOBS
    assert [filled(r) for r in requests] == [expected(path, r) for r in requests]


def test_an_empty_batch_is_done(reader: NativeReader) -> None:
    assert reader.submit([]).wait() == ()


def test_more_views_than_one_call_takes(reader: NativeReader, path: Path) -> None:
    many = request(path, 0, [1] * 3000)
    assert reader.submit([many]).wait() == (None,)
    assert filled(many) == path.read_bytes()[:3000]


def test_a_file_that_ends_too_early_says_where(reader: NativeReader, path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(5 * BLOB + 10)
    answers = reader.submit([request(path, 4), request(path, 5), request(path, 6)]).wait()
    assert answers[0] is None
    assert "the file ends at byte 5010" in str(answers[1])
    assert "the file ends at byte 6000" in str(answers[2])


def test_a_failure_names_layer_expert_and_file(
    reader: NativeReader, path: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    bad, good = request(folder, 7), request(path, 1)
    failure, fine = reader.submit([bad, good]).wait()
    assert isinstance(failure, ReadFailed)
    assert failure.message == (
        f"Expert 7 of layer 3 could not be read from {folder}: Is a directory."
    )
    assert fine is None
    assert filled(good) == expected(path, good)


def test_a_file_that_comes_back_is_read_again(reader: NativeReader, path: Path) -> None:
    content = path.read_bytes()
    path.unlink()
    gone = reader.submit([request(path, 1)]).wait()[0]
    assert isinstance(gone, ReadFailed)
    assert "No such file" in gone.message
    path.write_bytes(content)
    back = request(path, 1)
    assert reader.submit([back]).wait() == (None,)
    assert filled(back) == expected(path, back)


def test_a_file_that_was_replaced_is_opened_anew(reader: NativeReader, path: Path) -> None:
    assert reader.submit([request(path, 9)]).wait() == (None,)
    whole = path.read_bytes()
    with path.open("r+b") as file:
        file.truncate(BLOB)
    replacement = path.with_name("new")
    replacement.write_bytes(whole)
    replacement.replace(path)
    read = request(path, 9)
    assert reader.submit([read]).wait() == (None,)
    assert filled(read) == expected(path, read)


def test_every_request_is_answered_once_however_many_are_cancelled(
    reader: NativeReader, path: Path
) -> None:
    chance = random.Random(1)
    batches = []
    for number in range(200):
        requests = [request(path, chance.randrange(BLOBS)) for _ in range(chance.randrange(20))]
        batch = reader.submit(requests, lookahead=number % 3 == 0)
        dropped = batch.cancel() if number % 4 == 0 else ()
        batches.append((requests, batch, dropped))
    for requests, batch, dropped in batches:
        answers = batch.wait()
        assert [i for i, answer in enumerate(answers) if answer is not None] == list(dropped)
        assert all("cancelled" in str(answers[i]) for i in dropped)
        read = [r for r, answer in zip(requests, answers, strict=True) if answer is None]
        assert [filled(r) for r in read] == [expected(path, r) for r in read]
        assert batch.cancel() == ()


def test_a_batch_that_nobody_awaits_is_finished_before_its_memory_goes(
    reader: NativeReader, path: Path
) -> None:
    for _ in range(50):
        reader.submit([request(path, expert) for expert in range(8)], lookahead=True)
    last = request(path, 3)
    assert reader.submit([last]).wait() == (None,)
    assert filled(last) == expected(path, last)


def test_closing_answers_everything_and_closes_the_files(core: NativeCore, path: Path) -> None:
    reader = NativeReader(core, 2)
    requests = [request(path, expert) for expert in range(BLOBS)]
    batch = reader.submit(requests)
    reader.close()
    for asked, answer in zip(requests, batch.wait(), strict=True):
        assert answer is not None or filled(asked) == expected(path, asked)
    with pytest.raises(RuntimeError, match="closed"):
        reader.submit([request(path, 0)])
    reader.close()
    open_files = {os.path.realpath(f"/dev/fd/{fd}") for fd in os.listdir("/dev/fd")}
    assert str(path.resolve()) not in open_files
