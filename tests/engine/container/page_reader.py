"""A reader of .qpack folders in numpy, written from the format's description alone.

It shares no code with `engine.container`, so that an error in our writer cannot hide in our reader.
"""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

NUMPY = {"U32": "<u4", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}  # bfloat16 as its bits


class PageReader:
    """An opened folder: `expert(layer, index)` and `dense(name)` give arrays of raw numbers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
        self.layout: dict[str, Any] = json.loads(
            (folder / "packed_experts" / "layout.json").read_text()
        )
        raw = (folder / "model.safetensors").read_bytes()
        (length,) = struct.unpack("<Q", raw[:8])
        self.header: dict[str, Any] = json.loads(raw[8 : 8 + length])
        self._data = raw[8 + length :]

    def dense(self, name: str) -> np.ndarray:
        """A tensor of the dense file, looked up bare first and then with its wrapper's prefix."""
        entry = self.header.get(name) or self.header["language_model." + name]
        begin, end = entry["data_offsets"]
        return array(self._data[begin:end], entry["dtype"], entry["shape"])

    def expert(self, layer: int, index: int) -> dict[str, np.ndarray]:
        """The sections of one expert by name."""
        stride = self.layout["expertStride"]
        with (self.folder / "packed_experts" / f"layer_{layer:02d}.bin").open("rb") as file:
            file.seek(index * stride)
            blob = file.read(stride)
        assert len(blob) == stride
        return {
            s["name"]: array(blob[s["offset"] : s["offset"] + s["size"]], s["dtype"], s["shape"])
            for s in self.layout["sections"]
        }


def array(raw: bytes, dtype: str, shape: list[int]) -> np.ndarray:
    """Little-endian numbers in rows."""
    return np.frombuffer(raw, NUMPY[dtype]).reshape(shape)


def read_source(folder: Path) -> dict[str, np.ndarray]:
    """Every tensor of a checkpoint by its name in the file, read without any library."""
    found = {}
    for path in folder.glob("*.safetensors"):
        raw = path.read_bytes()
        (length,) = struct.unpack("<Q", raw[:8])
        for name, entry in json.loads(raw[8 : 8 + length]).items():
            if name != "__metadata__":
                begin, end = (8 + length + offset for offset in entry["data_offsets"])
                found[name] = array(raw[begin:end], entry["dtype"], entry["shape"])
    return found
