"""StoredTable: the embedding, left in its file; only the rows that are asked for are read.

A token needs one row, about a kilobyte, of a table that takes hundreds of megabytes: as memory of
experts those are worth more, and the system keeps the pages of common words at hand by itself.
Where the output is tied to the table, every token needs all of it, and it is resident.
V vocabulary, D hidden, n distinct ids.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import mlx.core as mx
import numpy as np

from engine.container.container import EMBEDDING, Container
from engine.container.dense import DTYPES
from engine.container.files import read_into
from engine.errors import BadContainer, ReadFailed
from engine.experts.reader import REMEDY, OpenFile
from engine.model.kernels import Kernels
from engine.model.weights import Linear, linear


@dataclass(frozen=True, slots=True)
class _Rows:
    """Room for some rows, and where the bytes of each part go: name, memory."""

    table: Linear  # (n, D)
    memory: tuple[tuple[str, memoryview], ...]


class StoredTable:
    """Rows of the table by id. Raises OSError where the file cannot be opened."""

    def __init__(self, container: Container) -> None:
        self._config = container.config
        self._path = container.dense_path
        self._parts = {name: container.dense[name] for name in container.stored}
        self._file = OpenFile(self._path)
        self._one = self._room(1)
        self._first = mx.array([0], mx.uint32)

    def embed(self, kernels: Kernels, ids: Sequence[int]) -> mx.array:
        """(T,) -> (T, D). Raises ReadFailed, and IndexError for an id outside the table.

        A single row's memory is used again: what is made of it must be evaluated by then.
        """
        if len(ids) == 1:
            self._fill(self._one, ids)
            return kernels.embed(self._one.table, self._first)
        distinct, places = np.unique(np.asarray(ids, np.int64), return_inverse=True)
        rows = self._room(len(distinct))
        self._fill(rows, distinct.tolist())
        return kernels.embed(rows.table, mx.array(places.astype(np.uint32)))

    def _room(self, count: int) -> _Rows:
        arrays = {
            name: mx.zeros((count, *entry.shape[1:]), DTYPES[entry.dtype])
            for name, entry in self._parts.items()
        }
        mx.eval(arrays)
        # MLX arrays export their memory, which their type stubs do not say.
        memory = ((name, memoryview(array).cast("B")) for name, array in arrays.items())  # type: ignore[arg-type]
        return _Rows(linear(arrays, EMBEDDING, self._config), tuple(memory))

    def _fill(self, rows: _Rows, ids: Sequence[int]) -> None:
        """Read; where that fails, once more from a fresh descriptor: volumes come back."""
        if not 0 <= min(ids) <= max(ids) < self._config.vocab_size:
            raise IndexError(f"{min(ids)} to {max(ids)} of {self._config.vocab_size} rows")
        try:
            self._read(rows, ids)
        except (OSError, BadContainer):
            try:
                self._file = OpenFile(self._path)
                self._read(rows, ids)
            except (OSError, BadContainer) as error:
                raise self._failure(error) from error

    def _read(self, rows: _Rows, ids: Sequence[int]) -> None:
        for name, memory in rows.memory:
            size, start = memory.nbytes // len(ids), self._parts[name].offset
            for i, row in enumerate(ids):
                place = memory[i * size : (i + 1) * size]
                read_into(self._file.descriptor, place, start + row * size, self._path)

    def _failure(self, error: OSError | BadContainer) -> ReadFailed:
        reason = error.strerror if isinstance(error, OSError) else error
        entry = next(iter(self._parts.values()))
        return ReadFailed(
            f"The words' vectors could not be read from {self._path}: {reason}.",
            REMEDY,
            self._path,
            entry.offset,
            entry.size // entry.shape[0],
        )
