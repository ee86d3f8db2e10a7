"""NativeReader: reads expert blobs with threads that the interpreter's lock does not hold up.

A batch is submitted and awaited in one call each. Files are opened here; the core sees descriptors
and addresses only. A read that fails is tried once more, from a fresh descriptor, when awaited.
"""

import errno
import os
from collections.abc import Sequence
from ctypes import addressof, c_char, c_int32, c_int64
from dataclasses import replace

import numpy as np

from engine.errors import ReadFailed
from engine.experts.reader import OpenFile, OpenFiles, ReadRequest, failure
from engine.native.core import PLACE, READ_REQUEST, NativeCore

_CANCELLED = "cancelled"


class NativeReader:
    """See `engine.experts.reader.ExpertReader`."""

    def __init__(self, native: NativeCore, thread_count: int = 4, *, direct: bool = False) -> None:
        self.core = native
        self.files = OpenFiles(direct)
        self.handle = native.open_reader(thread_count)
        self.closed = False

    def submit(self, requests: Sequence[ReadRequest], *, lookahead: bool = False) -> "NativeBatch":
        if self.closed:
            raise RuntimeError("the reader is closed")
        return NativeBatch(self, requests, lookahead)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.core.close_reader(self.handle)
            self.files.close()

    def __del__(self) -> None:
        if hasattr(self, "closed"):
            self.close()
            self.core.free_reader(self.handle)


class NativeBatch:
    """See `engine.experts.reader.Batch`."""

    def __init__(
        self, reader: NativeReader, requests: Sequence[ReadRequest], lookahead: bool
    ) -> None:
        self._reader = reader
        self._requests = tuple(requests)
        self._attempt = Attempt(reader, self._requests, lookahead)
        self._answers: tuple[ReadFailed | None, ...] | None = None

    def wait(self) -> tuple[ReadFailed | None, ...]:
        if self._answers is None:
            reasons = self._attempt.wait()
            self._try_again(reasons)
            self._answers = tuple(
                None if reason is None else failure(request, reason)
                for request, reason in zip(self._requests, reasons, strict=True)
            )
            self._requests = ()  # their views keep the memory of slots alive
        return self._answers

    def cancel(self) -> tuple[int, ...]:
        return self._attempt.cancel()

    def _try_again(self, reasons: list[str | None]) -> None:
        failed = [i for i, reason in enumerate(reasons) if reason not in (None, _CANCELLED)]
        if failed and not self._reader.closed:
            cached = [replace(self._requests[i], direct=False) for i in failed]
            again = Attempt(self._reader, cached, False)
            for i, reason in zip(failed, again.wait(), strict=True):
                reasons[i] = reason


class Attempt:
    """Requests in the core's hands, and what must live until they are answered."""

    def __init__(
        self, reader: NativeReader, requests: Sequence[ReadRequest], lookahead: bool
    ) -> None:
        self._reader = reader
        self._requests = requests
        self._files: list[OpenFile | None] = []
        self._reasons: list[str | None] = []  # why a file could not be opened
        for request in requests:
            self._open(request)
        self._handle: int | None = self._submit(lookahead)

    def wait(self) -> list[str | None]:
        """Why each request was not fulfilled; None where it was."""
        assert self._handle is not None, "waited for twice"
        answers = (c_int64 * len(self._requests))()
        self._reader.core.wait(self._handle, addressof(answers))
        self._reader.core.free_batch(self._handle)
        self._handle = None
        reasons = [self._reason(i, answer) for i, answer in enumerate(answers)]
        self._files, self._requests = [], ()
        return reasons

    def cancel(self) -> tuple[int, ...]:
        """The positions of the requests that were dropped."""
        if self._handle is None:
            return ()
        dropped = (c_int32 * len(self._requests))()
        count = self._reader.core.cancel(self._handle, addressof(dropped))
        return tuple(dropped[:count])

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:  # nobody waits, but the threads still write
            self.cancel()
            self.wait()

    def _open(self, request: ReadRequest) -> None:
        try:
            self._files.append(self._reader.files.open(request))
            self._reasons.append(None)
        except OSError as error:
            self._files.append(None)
            self._reasons.append(str(error.strerror))

    def _submit(self, lookahead: bool) -> int:
        places: list[tuple[int, int]] = []
        rows: list[tuple[int, int, int]] = []
        for request, file in zip(self._requests, self._files, strict=True):
            mine = [] if file is None else [place(view) for view in request.views if view.nbytes]
            places += mine
            rows.append((request.offset, -1 if file is None else file.descriptor, len(mine)))
        table, scattered = np.array(rows, READ_REQUEST), np.array(places, PLACE)
        return self._reader.core.submit(
            *(self._reader.handle, table.ctypes.data, len(rows)),
            *(scattered.ctypes.data, lookahead),
        )

    def _reason(self, position: int, answer: int) -> str | None:
        if answer == errno.ECANCELED:
            return _CANCELLED
        file = self._files[position]
        if file is None:
            return self._reasons[position]
        if answer == 0:
            return None
        self._reader.files.forget(file, answer)
        return os.strerror(answer) if answer > 0 else f"the file ends at byte {-1 - answer}"


def place(view: memoryview) -> tuple[int, int]:
    """Where a writable view's bytes lie, and how many they are."""
    return addressof(c_char.from_buffer(view)), view.nbytes
