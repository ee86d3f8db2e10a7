"""Routing traces: which experts every token asked for, layer by layer, as a file.

16 bytes of header (magic, version, layers L, experts E, experts a token k), then for every token
L·k little-endian uint16 ids, best first. A file that was cut short loses its last token only.
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadOption

MAGIC = b"MRTLROUT"
VERSION = 1
MAX_TOKENS = 100_000  # 77 MB of 40 layers with 8 experts a token

_HEADER = struct.Struct("<8sHHHH")
_ID = np.dtype("<u2")
_REMEDY = "Record it again."


@dataclass(frozen=True, slots=True)
class Trace:
    """What a recording holds."""

    expert_count: int
    routes: NDArray[np.uint16]  # (T, L, k)


class TraceRecorder:
    """Writes a trace while a model runs; after `max_tokens` it records nothing more.

    A diagnosis must not cost an answer: where the disk refuses, recording ends; `fault` says why.
    """

    def __init__(
        self,
        path: Path,
        layer_count: int,
        expert_count: int,
        experts_per_token: int,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        """Replaces the file at `path`. Raises OSError where it cannot be made."""
        self.fault: OSError | None = None
        self._layer_count = layer_count
        self._room = max_tokens
        self._layers: list[NDArray[np.uint16]] = []  # of the step under way
        self._file = path.open("wb")
        header = (MAGIC, VERSION, layer_count, expert_count, experts_per_token)
        self._file.write(_HEADER.pack(*header))

    def add(self, layer: int, ids: NDArray[np.uint32]) -> None:
        """A step's ids (T, k) in one layer. A step given up half-way leaves nothing."""
        if layer == 0:
            self._layers.clear()
        self._layers.append(ids.astype(_ID))
        if layer == self._layer_count - 1:
            self._write(np.stack(self._layers, axis=1))  # (T, L, k)

    def close(self) -> None:
        """Finish the file."""
        try:
            self._file.close()
        except OSError as error:
            self.fault = error

    def _write(self, tokens: NDArray[np.uint16]) -> None:
        tokens = tokens[: self._room]
        self._room -= len(tokens)
        try:
            self._file.write(tokens.tobytes())
        except OSError as error:
            self.fault, self._room = error, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def load_trace(path: Path) -> Trace:
    """Read a recording. Raises BadOption where the file is none, OSError where unreadable."""
    content = path.read_bytes()
    if len(content) < _HEADER.size:
        raise BadOption(f"{path} is too short to be a routing trace.", _REMEDY)
    magic, version, layers, experts, top_k = _HEADER.unpack_from(content)
    if magic != MAGIC or version != VERSION or not 0 < top_k <= experts or not layers:
        raise BadOption(f"{path} is not a routing trace of version {VERSION}.", _REMEDY)
    tokens = (len(content) - _HEADER.size) // (layers * top_k * _ID.itemsize)
    ids = np.frombuffer(content, _ID, tokens * layers * top_k, _HEADER.size)
    if ids.size and ids.max() >= experts:
        raise BadOption(f"{path} names expert {ids.max()} of {experts}.", _REMEDY)
    return Trace(experts, ids.reshape(tokens, layers, top_k))
