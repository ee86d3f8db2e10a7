"""The header of a safetensors file, read as hostile input. Tensor data is never touched here.

A u64 (little-endian) gives the length of a JSON header; data follows it at any, even odd, offset.
Nothing but the header is held in memory. Source: the safetensors format description.
"""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from engine.container.files import REDOWNLOAD, file_size, opened, read_into
from engine.container.json_file import parse_object, shown
from engine.errors import BadContainer, UnsupportedModel

LARGEST_HEADER = 32 << 20  # bytes; real ones have a few MB
PREFIX_BYTES = 8
ITEM_BYTES = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1,
    "U16": 2, "I16": 2, "F16": 2, "BF16": 2,
    "U32": 4, "I32": 4, "F32": 4,
    "U64": 8, "I64": 8, "F64": 8,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """Where one tensor lies: `size` bytes at `offset` from the start of the file."""

    dtype: str
    shape: tuple[int, ...]
    offset: int
    size: int


def read_header(path: Path) -> dict[str, TensorEntry]:
    """The tensors of a file, in the order of their offsets. Raises BadContainer."""
    total = file_size(path)
    with opened(path) as fd:
        prefix = os.pread(fd, PREFIX_BYTES, 0)
        raw = bytearray(header_length(prefix, total, str(path)))
        read_into(fd, memoryview(raw), PREFIX_BYTES, path)
    return parse_header(bytes(raw), total, str(path))


def header_length(prefix: bytes, file_bytes: int, name: str) -> int:
    """The length of the JSON header, from the first eight bytes of a file of `file_bytes`."""
    if len(prefix) < PREFIX_BYTES:
        raise BadContainer(f"{name} has {file_bytes} bytes, too few for a header.", REDOWNLOAD)
    length = int.from_bytes(prefix, "little")
    most = min(LARGEST_HEADER, file_bytes - PREFIX_BYTES)
    if length > most:
        raise BadContainer(
            f"{name} names a header of {length} bytes, at most {most} are possible.", REDOWNLOAD
        )
    return length


def parse_header(raw: bytes, file_bytes: int, name: str) -> dict[str, TensorEntry]:
    """Check the JSON header of a file of `file_bytes`: bounds, sizes and overlaps."""
    start = PREFIX_BYTES + len(raw)
    entries = {
        key: _entry(value, start, file_bytes - start, f"{name}: {shown(key)}")
        for key, value in parse_object(raw, name).items()
        if key != "__metadata__"
    }
    ordered = dict(sorted(entries.items(), key=lambda item: (item[1].offset, item[1].size)))
    for (first, a), (second, b) in pairwise(ordered.items()):
        if a.offset + a.size > b.offset:
            raise BadContainer(f"{name}: {shown(first)} and {shown(second)} overlap.", REDOWNLOAD)
    return ordered


def _entry(value: Any, start: int, data_bytes: int, what: str) -> TensorEntry:
    if not isinstance(value, dict):
        raise BadContainer(f"{what} is {shown(value)}, expected an object.", REDOWNLOAD)
    dtype, shape = value.get("dtype"), whole_shape(value.get("shape"), what)
    if not isinstance(dtype, str) or dtype not in ITEM_BYTES:
        raise UnsupportedModel(
            f"{what} has the dtype {shown(dtype)}.", f"Known are {', '.join(ITEM_BYTES)}."
        )
    begin, end = _offsets(value.get("data_offsets"), data_bytes, what)
    size = math.prod(shape) * ITEM_BYTES[dtype]
    if end - begin != size:
        raise BadContainer(
            f"{what} has {end - begin} bytes, but {dtype} of shape {shown(shape)} needs {size}.",
            REDOWNLOAD,
        )
    return TensorEntry(dtype, shape, start + begin, size)


def whole_shape(value: object, what: str) -> tuple[int, ...]:
    """A JSON shape: up to eight sizes, each below 2**31 as MLX needs them."""
    good = isinstance(value, list) and len(value) <= 8
    sizes = tuple(value) if isinstance(value, list) and good else ()
    if not good or not all(type(size) is int and 0 <= size < 2**31 for size in sizes):
        raise BadContainer(f"{what} has the shape {shown(value)}.", REDOWNLOAD)
    return sizes


def _offsets(value: object, data_bytes: int, what: str) -> tuple[int, int]:
    if isinstance(value, list) and len(value) == 2 and all(type(v) is int for v in value):
        begin, end = value
        if 0 <= begin <= end <= data_bytes:
            return begin, end
    raise BadContainer(
        f"{what} has the offsets {shown(value)}, the file has {data_bytes} bytes of data.",
        REDOWNLOAD,
    )


def place_tensors(
    shapes: Mapping[str, tuple[str, tuple[int, ...]]],
) -> tuple[bytes, dict[str, TensorEntry]]:
    """Lay out a new file of `shapes` (name -> dtype, shape), back to back in order of names.

    Returns what stands before the data (length and header) and where each tensor then lies.
    """
    header, offset = {}, 0
    for name, (dtype, shape) in sorted(shapes.items()):
        end = offset + math.prod(shape) * ITEM_BYTES[dtype]
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, end]}
        offset = end
    raw = json.dumps(header, separators=(",", ":")).encode()
    raw += b" " * (-len(raw) % 8)  # data starts aligned, as the reference writer has it
    start = PREFIX_BYTES + len(raw)
    return len(raw).to_bytes(8, "little") + raw, parse_header(raw, start + offset, "the new file")
