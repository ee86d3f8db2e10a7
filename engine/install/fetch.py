"""Fetcher: bytes of a remote that come in the end, through whatever the network does."""

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from engine.container.files import REDOWNLOAD
from engine.container.remote import Interrupted, Remote, Stream
from engine.errors import BadContainer, DownloadFailed
from engine.install.patience import Backoff, Patience
from engine.install.protocol import Event, Waiting
from engine.install.stop import Stop

PART_BYTES = 1 << 20  # what is hashed and written at once
CRAWL_S = 30.0
CRAWL_BYTES_PER_S = 1024  # slower than that is no connection
KEPT = "Nothing is lost: try again, and it goes on where it stopped."

T = TypeVar("T")


class Retrier:
    """Does again what the network interrupted, and waits in between."""

    def __init__(self, patience: Patience, stop: Stop, hear: Callable[[Event], None]) -> None:
        self.patience = patience
        self.stop = stop
        self.hear = hear

    def trying(self, call: Callable[[], T]) -> T:
        """The result of `call`, at the latest after as many tries as patience allows."""
        backoff = Backoff(self.patience)
        while True:
            self.stop.check()
            try:
                return call()
            except Interrupted as fault:
                self.wait(backoff, fault)

    def wait(self, backoff: Backoff, fault: Interrupted) -> None:
        """Sit out a fault. Raises DownloadFailed where it is one too many."""
        self.stop.check()
        seconds = backoff.failed(fault.wait_s)
        if seconds is None:
            raise DownloadFailed(fault.message, KEPT) from fault
        self.hear(Waiting(fault.message, seconds, backoff.failures, self.patience.tries))
        self.stop.sleep(seconds)


class Fetcher:
    """Reads a remote's files. `moved` hears of every byte that comes over the network."""

    def __init__(self, remote: Remote, retrier: Retrier, moved: Callable[[int], None]) -> None:
        self.remote = remote
        self._retrier = retrier
        self._moved = moved

    def chunks(self, name: str, start: int, stop: int, size: int | None = None) -> Iterator[bytes]:
        """Bytes `start` to `stop` of a file, about a MiB at a time.

        `size`: of the whole file, where that is not `stop`. Raises PastTheEnd where the file turns
        out to be shorter, DownloadFailed, Cancelled.
        """
        backoff = Backoff(self._retrier.patience)
        at = start
        while at < stop:
            try:
                for part in self._once(name, at, stop, size or stop):
                    at += len(part)
                    backoff.progressed(len(part))
                    yield part
                if at < stop:
                    raise Interrupted(f"{self._who()} ended {name} early.")
            except Interrupted as fault:
                self._retrier.wait(backoff, fault)

    def read(self, name: str, limit: int) -> bytes:
        """A small file, whole. Raises Absent, BadContainer where it is larger than `limit`."""
        return self._retrier.trying(lambda: self._read_once(name, limit))

    def range(self, name: str, start: int, stop: int) -> bytes:
        """A small part of a file. Raises PastTheEnd."""
        return self._retrier.trying(lambda: self._range_once(name, start, stop))

    def _once(self, name: str, start: int, stop: int, size: int) -> Iterator[bytes]:
        with self.remote.stream(name, start, stop) as stream:
            if stream.size not in (None, size):
                raise Interrupted(
                    f"{self._who()} offers {stream.size} bytes of {name}, expected {size}."
                )
            yield from gathered(self._counted(stream))

    def _counted(self, stream: Stream) -> Iterator[bytes]:
        pace = _Pace(self._who())
        for part in stream:
            self._retrier.stop.check()
            self._moved(len(part))
            yield part
            pace.check(len(part))

    def _read_once(self, name: str, limit: int) -> bytes:
        data = bytearray()
        with self.remote.stream(name) as stream:
            for part in stream:
                self._retrier.stop.check()
                data += part
                if len(data) > limit:
                    raise BadContainer(
                        f"{name} has more than {limit} bytes on {self._who()}.", REDOWNLOAD
                    )
            if stream.size not in (None, len(data)):
                raise Interrupted(f"{self._who()} ended {name} early.")
        return bytes(data)

    def _range_once(self, name: str, start: int, stop: int) -> bytes:
        with self.remote.stream(name, start, stop) as stream:
            data = b"".join(stream)
        if len(data) != stop - start:
            raise Interrupted(f"{self._who()} ended {name} early.")
        return data

    def _who(self) -> str:
        return self.remote.host or self.remote.name


def gathered(parts: Iterator[bytes]) -> Iterator[bytes]:
    """`parts` in larger pieces, of a second at most; what came before a fault comes out too."""
    held: list[bytes] = []
    count, since = 0, time.monotonic()
    try:
        for part in parts:
            held.append(part)
            count += len(part)
            if count >= PART_BYTES or time.monotonic() - since > 1.0:
                yield b"".join(held)
                held, count, since = [], 0, time.monotonic()
    except Interrupted:
        if held:
            yield b"".join(held)
        raise
    if held:
        yield b"".join(held)


class _Pace:
    """Gives up a connection that crawls: a stall that sends a byte now and then."""

    def __init__(self, who: str) -> None:
        self._who = who
        self._since, self._count = time.monotonic(), 0

    def check(self, count: int) -> None:
        self._count += count
        elapsed = time.monotonic() - self._since
        if elapsed < CRAWL_S:
            return
        if self._count < CRAWL_BYTES_PER_S * elapsed:
            raise Interrupted(f"{self._who} sends next to nothing.")
        self._since, self._count = time.monotonic(), 0
