import errno
import os
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue

import pytest

from engine.errors import ReadFailed
from engine.experts.reader import ReadRequest, ThreadedReader

BLOB = 1000
BLOBS = 64
WAIT_S = 60
PREADV = os.preadv
Preadv = Callable[[int, Sequence[memoryview], int], int]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "layer_03.bin"
    path.write_bytes(random.Random(0).randbytes(BLOB * BLOBS))
    return path


@pytest.fixture
def reader() -> Iterator[ThreadedReader]:
    reader = ThreadedReader(8)
    yield reader
    reader.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("expert-reader")]


@pytest.fixture
def single() -> Iterator[ThreadedReader]:
    reader = ThreadedReader(1)
    yield reader
    reader.close()


def request(path: Path, expert: int, sizes: Sequence[int] = (600, 0, 1, 399)) -> ReadRequest:
    views = tuple(memoryview(bytearray(size)) for size in sizes)
    return ReadRequest(3, expert, path, expert * BLOB, views)


def filled(request: ReadRequest) -> bytes:
    return b"".join(request.views)


def expected(path: Path, request: ReadRequest) -> bytes:
    return path.read_bytes()[request.offset : request.offset + BLOB]


def descriptors_of(path: Path) -> list[int]:
    """The open descriptors of a file."""
    found = []
    for descriptor in map(int, os.listdir("/dev/fd")):
        with suppress(OSError):  # the listing's own is closed by now
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                found.append(descriptor)
    return found


class Gate:
    """A preadv that waits until it is opened, and tells which offsets were read in which order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()
        self.offsets: list[int] = []
        monkeypatch.setattr(os, "preadv", self.preadv)

    def preadv(self, descriptor: int, views: Sequence[memoryview], offset: int) -> int:
        self.entered.set()
        assert self.opened.wait(WAIT_S)
        self.offsets.append(offset)
        return PREADV(descriptor, views, offset)


def clip(views: Sequence[memoryview], count: int) -> list[memoryview]:
    """Views of the first `count` bytes."""
    clipped = []
    for view in views:
        clipped.append(view[:count])
        count -= len(clipped[-1])
    return clipped


def short(descriptor: int, views: Sequence[memoryview], offset: int) -> int:
    """One to a few hundred bytes at a time."""
    return PREADV(descriptor, clip(views, 1 + offset * 7919 % 301), offset)


def test_requests_are_scattered_exactly(reader: ThreadedReader, path: Path) -> None:
    requests = [request(path, expert) for expert in reversed(range(BLOBS))]
    assert reader.submit(requests).wait() == (None,) * BLOBS
    assert [filled(r) for r in requests] == [expected(path, r) for r in requests]


def test_an_empty_batch_is_done(reader: ThreadedReader) -> None:
    assert reader.submit([]).wait() == ()


def test_short_reads_are_finished(
    reader: ThreadedReader, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "preadv", short)
    requests = [request(path, expert) for expert in range(BLOBS)]
    assert reader.submit(requests).wait() == (None,) * BLOBS
    assert [filled(r) for r in requests] == [expected(path, r) for r in requests]


def test_more_views_than_one_call_takes(reader: ThreadedReader, path: Path) -> None:
    many = request(path, 0, [1] * 3000)
    assert reader.submit([many]).wait() == (None,)
    assert filled(many) == path.read_bytes()[:3000]


def test_an_interrupted_read_is_repeated(
    reader: ThreadedReader, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted = set()

    def preadv(descriptor: int, views: Sequence[memoryview], offset: int) -> int:
        if offset not in interrupted:
            interrupted.add(offset)
            raise InterruptedError
        return PREADV(descriptor, views, offset)

    monkeypatch.setattr(os, "preadv", preadv)
    requests = [request(path, expert) for expert in range(8)]
    assert reader.submit(requests).wait() == (None,) * 8
    assert len(interrupted) == 8
    assert [filled(r) for r in requests] == [expected(path, r) for r in requests]


def test_a_failure_that_reopening_cures_is_not_told(
    reader: ThreadedReader, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    os_open: Callable[..., int] = os.open

    def counted_open(*arguments: object) -> int:
        calls.append("open")
        return os_open(*arguments)

    def preadv(descriptor: int, views: Sequence[memoryview], offset: int) -> int:
        calls.append("read")
        if calls.count("read") == 1:
            raise OSError(errno.ENXIO, "No such device")
        return PREADV(descriptor, views, offset)

    monkeypatch.setattr(os, "open", counted_open)
    monkeypatch.setattr(os, "preadv", preadv)
    read = request(path, 5)
    assert reader.submit([read]).wait() == (None,)
    assert filled(read) == expected(path, read)
    assert len(descriptors_of(path)) == 1
    assert calls == ["open", "read", "open", "read"]


def test_a_failure_that_stays_names_layer_expert_and_file(
    reader: ThreadedReader, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def preadv(descriptor: int, views: Sequence[memoryview], offset: int) -> int:
        if offset == 2 * BLOB:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return PREADV(descriptor, views, offset)

    monkeypatch.setattr(os, "preadv", preadv)
    requests = [request(path, expert) for expert in range(4)]
    answers = reader.submit(requests).wait()
    failure = answers[2]
    assert isinstance(failure, ReadFailed)
    assert failure.message == (
        f"Expert 2 of layer 3 could not be read from {path}: Input/output error."
    )
    assert failure.remedy
    assert answers[:2] + answers[3:] == (None,) * 3
    assert filled(requests[3]) == expected(path, requests[3])


def test_a_file_that_ends_too_early_says_where(reader: ThreadedReader, path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(5 * BLOB + 10)
    answers = reader.submit([request(path, 4), request(path, 5), request(path, 6)]).wait()
    assert answers[0] is None
    assert "the file ends at byte 5010" in str(answers[1])
    assert "the file ends at byte 6000" in str(answers[2])


def test_a_file_that_comes_back_is_read_again(reader: ThreadedReader, path: Path) -> None:
    content = path.read_bytes()
    path.unlink()
    gone = reader.submit([request(path, 1)]).wait()[0]
    assert isinstance(gone, ReadFailed)
    assert "No such file" in gone.message
    path.write_bytes(content)
    back = request(path, 1)
    assert reader.submit([back]).wait() == (None,)
    assert filled(back) == expected(path, back)


def test_a_shrunken_file_is_opened_anew(reader: ThreadedReader, path: Path) -> None:
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


def test_a_failure_leaves_the_descriptor_to_those_who_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, go_on = threading.Event(), threading.Event()
    descriptors = []

    def preadv(descriptor: int, views: Sequence[memoryview], offset: int) -> int:
        if offset == 0:
            inside.set()
            assert go_on.wait(WAIT_S)
            descriptors.append(descriptor)
        elif len(descriptors) == 0 and offset == BLOB:
            raise OSError(errno.EIO, "failed")
        return PREADV(descriptor, views, offset)

    monkeypatch.setattr(os, "preadv", preadv)
    reader = ThreadedReader(2)
    slow = request(path, 0)
    slow_batch = reader.submit([slow])
    assert inside.wait(WAIT_S)
    assert reader.submit([request(path, 1)]).wait()[0] is not None  # and forgets the descriptor
    go_on.set()
    assert slow_batch.wait() == (None,)
    assert filled(slow) == expected(path, slow)
    reader.close()


def test_a_bug_in_a_thread_is_raised_where_it_is_awaited(
    reader: ThreadedReader, path: Path
) -> None:
    read_only = ReadRequest(3, 0, path, 0, (memoryview(bytes(10)),))
    batch = reader.submit([read_only, request(path, 1)])
    with pytest.raises(BufferError):
        batch.wait()
    assert reader.submit([request(path, 1)]).wait() == (None,)  # the thread lives on


def test_demand_goes_before_lookahead(
    single: ThreadedReader, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    first = single.submit([request(path, 0)])
    assert gate.entered.wait(WAIT_S)
    ahead = single.submit([request(path, 1), request(path, 2)], lookahead=True)
    demand = single.submit([request(path, 3), request(path, 4)])
    gate.opened.set()
    for batch in (first, ahead, demand):
        assert not any(batch.wait())
    assert gate.offsets == [0, 3 * BLOB, 4 * BLOB, BLOB, 2 * BLOB]


def test_no_guess_is_begun_while_a_demand_is_being_read(
    reader: ThreadedReader, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, begun = Gate(monkeypatch), Queue[int]()

    def preadv(descriptor: int, views: Sequence[memoryview], offset: int) -> int:
        begun.put(offset)
        return gate.preadv(descriptor, views, offset)

    monkeypatch.setattr(os, "preadv", preadv)
    first = reader.submit([request(path, 0)])
    assert begun.get(timeout=WAIT_S) == 0
    ahead = reader.submit([request(path, 1), request(path, 2)], lookahead=True)
    demand = reader.submit([request(path, 3)])
    assert begun.get(timeout=WAIT_S) == 3 * BLOB  # though six threads have nothing to do
    with pytest.raises(Empty):
        begun.get(timeout=0.02)
    gate.opened.set()
    for batch in (first, demand, ahead):
        assert not any(batch.wait())
    assert {begun.get(timeout=WAIT_S) for _ in range(2)} == {BLOB, 2 * BLOB}


def test_cancelling_drops_what_nobody_has_begun(
    single: ThreadedReader, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    batch = single.submit([request(path, 0), request(path, 1), request(path, 2)], lookahead=True)
    assert gate.entered.wait(WAIT_S)
    assert batch.cancel() == (1, 2)
    assert batch.cancel() == ()
    gate.opened.set()
    answers = batch.wait()
    assert answers[0] is None
    assert all("cancelled" in str(answer) for answer in answers[1:])
    after = request(path, 7)
    assert single.submit([after]).wait() == (None,)
    assert gate.offsets == [0, 7 * BLOB]


def test_closing_answers_everything_and_ends(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)
    reader = ThreadedReader(2)
    batch = reader.submit([request(path, expert) for expert in range(20)])
    cancel = batch.cancel

    def cancel_and_open() -> tuple[int, ...]:
        dropped = cancel()
        gate.opened.set()
        return dropped

    monkeypatch.setattr(batch, "cancel", cancel_and_open)
    assert gate.entered.wait(WAIT_S)
    reader.close()
    assert 1 <= batch.wait().count(None) <= 2  # what was begun was finished
    assert not [t for t in threading.enumerate() if t.name.startswith("expert-reader")]
    assert not descriptors_of(path)
    with pytest.raises(RuntimeError, match="closed"):
        reader.submit([request(path, 0)])
    reader.close()


def test_a_storm_of_faults_answers_every_request_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(1)
    lock = threading.Lock()

    def preadv(descriptor: int, views: Sequence[memoryview], offset: int) -> int:
        with lock:
            fate = chance.random()
        if fate < 0.1:
            raise InterruptedError
        if fate < 0.2:
            raise OSError(errno.EIO, "failed")
        return short(descriptor, views, offset) if fate < 0.6 else PREADV(descriptor, views, offset)

    monkeypatch.setattr(os, "preadv", preadv)
    reader = ThreadedReader(8)
    batches = []
    for number in range(150):
        requests = [request(path, chance.randrange(BLOBS)) for _ in range(chance.randrange(20))]
        batch = reader.submit(requests, lookahead=number % 3 == 0)
        dropped = batch.cancel() if number % 7 == 0 else ()
        batches.append((requests, batch, dropped))
    for requests, batch, dropped in batches:
        answers = batch.wait()
        assert len(answers) == len(requests)
        assert batch.wait() == answers
        for position, (one, answer) in enumerate(zip(requests, answers, strict=True)):
            if answer is None:
                assert position not in dropped
                assert filled(one) == expected(path, one)
            else:
                assert f"Expert {one.expert} of layer 3" in answer.message
    reader.close()


def test_a_finished_batch_keeps_no_view(single: ThreadedReader, path: Path) -> None:
    place = bytearray(BLOB)
    batch = single.submit([ReadRequest(3, 0, path, 0, (memoryview(place),))])
    assert batch.wait() == (None,)
    place.clear()  # refused while a view of it exists
