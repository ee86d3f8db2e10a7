"""StoredTable: the embedding, left in its file; only the rows that are asked for are read.

A token needs one row, about a kilobyte, of a table that takes hundreds of megabytes: as memory of
experts those are worth more, and the system keeps the pages of common words at hand by itself.
Where the output is tied to the table, every token needs all of it, and it is resident.
V vocabulary, D hidden, n distinct ids.
"""

from collections.abc import Sequence

import mlx.core as mx
import numpy as np

from engine.container.container import EMBEDDING, Container
from engine.container.files import read_into
from engine.container.safetensors import TensorEntry
from engine.errors import BadContainer, ReadFailed
from engine.experts.reader import REMEDY, OpenFile
from engine.model.kernels import Kernels
from engine.model.weights import Linear, linear

_HELD = {"U32": np.uint32, "F32": np.float32, "F16": np.float16, "BF16": np.uint16}


class StoredTable:
    """Rows of the table by id. Raises OSError or BadContainer where the file cannot be opened."""

    def __init__(self, container: Container) -> None:
        self._config = container.config
        self._path = container.dense_path
        self._parts = {name: container.dense[name] for name in container.stored}
        self._rows = container.config.vocab_size
        self._file = OpenFile(self._path)

    def embed(self, kernels: Kernels, ids: Sequence[int]) -> mx.array:
        """(T,) -> (T, D). Raises ReadFailed, and IndexError for an id outside the table."""
        distinct, places = np.unique(np.asarray(ids, np.int64), return_inverse=True)
        if not 0 <= distinct[0] <= distinct[-1] < self._rows:
            raise IndexError(f"ids {distinct[0]} to {distinct[-1]} in a table of {self._rows} rows")
        table = self._table(distinct)
        return kernels.embed(table, mx.array(places.astype(np.uint32)))

    def _table(self, ids: np.ndarray) -> Linear:
        """The matrix (n, D) of some rows; where a read fails, once more from a fresh descriptor."""
        try:
            return self._read(ids)
        except (OSError, BadContainer):
            pass
        try:
            self._file = OpenFile(self._path)
            return self._read(ids)
        except (OSError, BadContainer) as error:
            reason = getattr(error, "strerror", None) or error
            first = next(iter(self._parts.values()))
            raise ReadFailed(
                f"The words' vectors could not be read from {self._path}: {reason}.",
                REMEDY,
                self._path,
                first.offset,
                first.size // self._rows,
            ) from error

    def _read(self, ids: np.ndarray) -> Linear:
        parts = {name: self._rows_of(entry, ids) for name, entry in self._parts.items()}
        return linear(parts, EMBEDDING, self._config)

    def _rows_of(self, entry: TensorEntry, ids: np.ndarray) -> mx.array:
        """(n, columns), as it lies in the file."""
        rows = np.empty((len(ids), *entry.shape[1:]), _HELD[entry.dtype])
        raw = rows.view(np.uint8).reshape(len(ids), -1)
        for place, row in zip(raw, ids.tolist(), strict=True):
            offset = entry.offset + row * place.nbytes
            read_into(self._file.descriptor, place.data, offset, self._path)
        array = mx.array(rows)
        return array.view(mx.bfloat16) if entry.dtype == "BF16" else array
