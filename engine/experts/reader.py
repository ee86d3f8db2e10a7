"""ExpertReader: reads expert blobs from layer files straight into slots.

A request is one contiguous stretch of one file, scattered over memoryviews by one `preadv`.
Requests come in batches, which are awaited. Lookahead waits until no demand is queued or being
read, since it would take its share of the disk's rate, and can be cancelled. The threads touch file
descriptors and memoryviews only, never MLX. `ThreadedReader` is the portable implementation; the
protocols are the seam for another.

Direct reads go past the system's page cache: the disk writes into the slots, and no processor
copies. They are for where that cache has no room to keep anything, and where offset and memory are
aligned; everything else, and what fails, is read through the cache.
"""

import errno
import os
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from engine.container.files import without_page_cache, without_readahead
from engine.errors import ReadFailed

_IOV_MAX = 1024  # of Linux and macOS
REMEDY = "Check that the disk is connected; if it is, verify the model or download it again."


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Fill `views`, one after the other, with the bytes of `path` from `offset` on."""

    layer: int
    expert: int
    path: Path
    offset: int
    views: tuple[memoryview, ...]
    direct: bool = False  # whether offset and views are aligned as direct reads need them


class Batch(Protocol):
    """Requests on their way. Every one is answered once: None, or why its views are not filled."""

    def wait(self) -> tuple[ReadFailed | None, ...]:
        """Block until all are answered; answers in the order of the requests. May be repeated."""
        ...

    def cancel(self) -> tuple[int, ...]:
        """Drop the requests that nobody has begun; they answer ReadFailed. Their positions."""
        ...


class ExpertReader(Protocol):
    """Reads in the background. Owned by one thread."""

    def submit(self, requests: Sequence[ReadRequest], *, lookahead: bool = False) -> Batch:
        """Queue reads, in order of urgency. `lookahead`: begun while nothing else is read."""
        ...

    def close(self) -> None:
        """Cancel what is queued, finish what is begun, end the threads, close the files."""
        ...


class ThreadedReader:
    """Reads with a few persistent threads; the interpreter's lock is free during a read."""

    def __init__(self, thread_count: int = 4, *, direct: bool = False) -> None:
        self._files = OpenFiles(direct)
        self._demand: deque[_Job] = deque()
        self._lookahead: deque[_Job] = deque()
        self._demands = 0  # being read
        self._changed = threading.Condition()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._run, name=f"expert-reader-{i}", daemon=True)
            for i in range(thread_count)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, requests: Sequence[ReadRequest], *, lookahead: bool = False) -> "_Batch":
        batch = _Batch(requests, self._changed, lookahead)
        with self._changed:
            if self._closed:
                raise RuntimeError("the reader is closed")
            queue = self._lookahead if lookahead else self._demand
            queue.extend((batch, position) for position in range(len(requests)))
            self._changed.notify(len(requests))
        return batch

    def close(self) -> None:
        with self._changed:
            self._closed = True
            queued = {batch for batch, _ in (*self._demand, *self._lookahead)}
            self._changed.notify_all()
        for batch in queued:
            batch.cancel()
        for thread in self._threads:
            thread.join()
        self._files.close()

    def _run(self) -> None:
        while (job := self._next()) is not None:
            batch, position = job
            try:
                batch.finish(position, self._read(batch.requests[position]))
            except BaseException as bug:  # noqa: BLE001 - a thread's outermost frame
                batch.fail(position, bug)
            self._ended(batch)

    def _next(self) -> "_Job | None":
        """Wait for a request and begin it; None when closed."""
        with self._changed:
            while not self._closed:
                job = self._begin()
                if job is not None:
                    return job
                self._changed.wait()
            return None

    def _begin(self) -> "_Job | None":
        """The most urgent request that has not been cancelled. The lock is held."""
        while queue := self._demand or (self._lookahead if not self._demands else None):
            batch, position = queue.popleft()
            if batch.begin(position):
                self._demands += not batch.lookahead
                return batch, position
        return None

    def _ended(self, batch: "_Batch") -> None:
        with self._changed:
            self._demands -= not batch.lookahead
            if self._lookahead and not self._demands:
                self._changed.notify_all()

    def _read(self, request: ReadRequest) -> ReadFailed | None:
        """Read; where that fails, once more from a fresh descriptor: volumes come back."""
        try:
            try:
                self._files.read(request)
            except (OSError, EOFError):
                self._files.read(replace(request, direct=False))
        except (OSError, EOFError) as error:
            return failure(request, getattr(error, "strerror", None) or error)
        return None


class _Batch:
    """A batch of `ThreadedReader`. `lock` is the reader's."""

    def __init__(
        self, requests: Sequence[ReadRequest], lock: threading.Condition, lookahead: bool
    ) -> None:
        self.requests = tuple(requests)
        self.lookahead = lookahead
        self._lock = lock
        self._answers: list[ReadFailed | None] = [None] * len(requests)
        self._queued = set(range(len(requests)))
        self._open = len(requests)
        self._bug: BaseException | None = None
        self._done = threading.Event()
        self._settle(0)

    def wait(self) -> tuple[ReadFailed | None, ...]:
        self._done.wait()
        if self._bug is not None:
            raise self._bug
        return tuple(self._answers)

    def cancel(self) -> tuple[int, ...]:
        with self._lock:
            dropped = tuple(sorted(self._queued))
            for position in dropped:
                self._answers[position] = failure(self.requests[position], "cancelled")
            self._queued.clear()
            self._settle(len(dropped))
        return dropped

    def begin(self, position: int) -> bool:
        """Whether the request is still to be read. The lock is held."""
        if position not in self._queued:
            return False
        self._queued.remove(position)
        return True

    def finish(self, position: int, answer: ReadFailed | None) -> None:
        with self._lock:
            self._answers[position] = answer
            self._settle(1)

    def fail(self, position: int, bug: BaseException) -> None:
        """A bug, not a fault of the disk: `wait` raises it on the thread that waits."""
        self._bug = bug
        self.finish(position, None)

    def _settle(self, count: int) -> None:
        self._open -= count
        if self._open == 0:
            self.requests = ()  # a view left in a thread would keep the memory of a slot alive
            self._done.set()


_Job = tuple[_Batch, int]


class OpenFiles:
    """Descriptors by path, shared by threads. One that failed is forgotten: the next is fresh."""

    def __init__(self, direct: bool = False) -> None:
        """`direct`: requests that can are read past the page cache."""
        self._direct = direct
        self._files: dict[tuple[Path, bool], OpenFile] = {}
        self._lock = threading.Lock()

    def read(self, request: ReadRequest) -> None:
        """Fill the request's views. Raises OSError, or EOFError where the file is too short."""
        file = self.open(request)
        try:
            _fill(file.descriptor, request.views, request.offset)
        except (OSError, EOFError) as error:
            self.forget(file, getattr(error, "errno", None))
            raise

    def close(self) -> None:
        with self._lock:
            self._files.clear()

    def open(self, request: ReadRequest) -> "OpenFile":
        """The descriptor that all requests of this kind share, as long as it does not fail."""
        with self._lock:
            key = request.path, request.direct and self._direct
            file = self._files.get(key)
            if file is None:
                file = self._files[key] = OpenFile(*key)
            return file

    def forget(self, file: "OpenFile", error: int | None) -> None:
        """It failed, with an errno; those who still read from it keep it."""
        with self._lock:
            if file.direct and error == errno.EINVAL:  # a system that wants it aligned otherwise
                self._direct = False
            key = file.path, file.direct
            if self._files.get(key) is file:
                del self._files[key]


class OpenFile:
    """A descriptor that closes with its last user: another thread may be reading from it."""

    def __init__(self, path: Path, direct: bool = False) -> None:
        self.path = path
        self.direct = direct
        self.descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        without_readahead(self.descriptor)
        if direct:
            without_page_cache(self.descriptor)  # where it cannot, the cache serves

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)


def _fill(descriptor: int, views: Sequence[memoryview], offset: int) -> None:
    left = list(views)
    while left:
        try:
            count = os.preadv(descriptor, left[:_IOV_MAX], offset)
        except InterruptedError:
            continue
        if count == 0:
            raise EOFError(f"the file ends at byte {offset}")
        offset += count
        left = _unfilled(left, count)


def _unfilled(views: list[memoryview], count: int) -> list[memoryview]:
    """What is left of `views` after their first `count` bytes."""
    for i, view in enumerate(views):
        if count < view.nbytes:
            return [view[count:], *views[i + 1 :]]
        count -= view.nbytes
    return []


def failure(request: ReadRequest, reason: object) -> ReadFailed:
    """The answer to a request that was not fulfilled."""
    return ReadFailed(
        f"Expert {request.expert} of layer {request.layer} could not be read from "
        f"{request.path}: {reason}.",
        REMEDY,
        request.path,
        request.offset,
        sum(view.nbytes for view in request.views),
    )
