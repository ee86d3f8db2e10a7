"""The dense weights, loaded once and resident, with no second copy.

Each tensor's memory is allocated by MLX in its final dtype and the file is read straight into it;
MLX never sees a map of the file. Runs on the thread that owns MLX.
"""

import os
from pathlib import Path

import mlx.core as mx

from engine.container.container import Container
from engine.container.json_file import REDOWNLOAD, unreadable
from engine.container.safetensors import TensorEntry
from engine.errors import BadContainer

_CHUNK_BYTES = 1 << 26  # one read: macOS refuses 2 GiB and more
_DTYPES = {"U32": mx.uint32, "F32": mx.float32, "F16": mx.float16, "BF16": mx.bfloat16}


def load_dense(container: Container) -> dict[str, mx.array]:
    """Every tensor that the model keeps resident, by bare name, as it lies in the file.

    Raises BadContainer where the file ends early or cannot be read.
    """
    path = container.dense_path
    try:
        fd = os.open(path, os.O_RDONLY)
        try:
            return {name: _load(fd, entry, path) for name, entry in container.dense.items()}
        finally:
            os.close(fd)
    except OSError as error:
        raise unreadable(path, error) from error


def _load(fd: int, entry: TensorEntry, path: Path) -> mx.array:
    array = mx.zeros(entry.shape, _DTYPES[entry.dtype])
    mx.eval(array)
    # MLX arrays export their memory, which their type stubs do not say.
    with memoryview(array) as view, view.cast("B") as target:  # type: ignore[arg-type]
        read_into(fd, target, entry.offset, path)
    return array


def read_into(fd: int, target: memoryview, offset: int, path: Path) -> None:
    """Fill `target` from `offset` of the file. Raises BadContainer where the file ends early."""
    done = 0
    while done < len(target):
        count = os.preadv(fd, [target[done : done + _CHUNK_BYTES]], offset + done)
        if count == 0:
            raise BadContainer(f"{path} ends at byte {offset + done}.", REDOWNLOAD)
        done += count
