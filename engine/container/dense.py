"""The dense weights, loaded once and resident, with no second copy.

Each tensor's memory is allocated by MLX in its final dtype and the file is read straight into it;
MLX never sees a map of the file. Runs on the thread that owns MLX.
"""

from collections.abc import Container as Names
from pathlib import Path

import mlx.core as mx

from engine.container.container import Container
from engine.container.files import opened, read_into
from engine.container.safetensors import TensorEntry

DTYPES = {"U32": mx.uint32, "F32": mx.float32, "F16": mx.float16, "BF16": mx.bfloat16}


def load_dense(container: Container, without: Names[str] = ()) -> dict[str, mx.array]:
    """Every tensor beside the experts, by bare name, as it lies in the file; but for `without`.

    Raises BadContainer where the file ends early or cannot be read.
    """
    path = container.dense_path
    in_order = sorted(container.dense.items(), key=lambda item: item[1].offset)
    with opened(path) as fd:
        return {name: _load(fd, entry, path) for name, entry in in_order if name not in without}


def _load(fd: int, entry: TensorEntry, path: Path) -> mx.array:
    array = mx.zeros(entry.shape, DTYPES[entry.dtype])
    mx.eval(array)
    # MLX arrays export their memory, which their type stubs do not say.
    with memoryview(array) as view, view.cast("B") as target:  # type: ignore[arg-type]
        read_into(fd, target, entry.offset, path)
    return array
