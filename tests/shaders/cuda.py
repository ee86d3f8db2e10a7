"""The shaders on an NVIDIA GPU: programs for nvcc, and launches recorded to be run there.

The machine with the GPU needs neither MLX nor this repository's engine: a recorded folder holds the
translation units, the inputs of every launch, and what the host target made of them.
"""

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import mlx.core as mx

from tests.shaders.generated import Generated, generate
from tests.shaders.host import HostKernel, HostTarget, bound, bytes_of, call_text, digest

INLINE_BYTES = 1 << 16  # a larger input of a timed launch is drawn at random over there


def unit(generated: Generated) -> str:
    """The translation unit. The signature is MLX's, but for the word that makes it a kernel."""
    source = generated.source.replace("[[kernel]] void ", "ON_GPU void ")
    return (
        f'#include "cuda.h"\n{source}\n'
        f"ON_GPU void kernel_lane(void* const* buffers, const Place& place) {{\n"
        f"  {call_text(generated)}\n}}\n"
        '#include "cuda_main.h"\n'
    )


Kind = Literal["checked", "planted", "timed"]


@dataclass(slots=True)
class Recorder:
    """Builds kernels whose launches are written down, as `kind` and under `label`.

    A checked launch also runs on the host target, and its answer is recorded to be compared with.
    Another does not run: its outputs are zeros here.
    """

    folder: Path
    host: HostTarget
    kind: Kind = "checked"
    label: str = ""
    launches: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, **definition: Any) -> "RecordedKernel":
        return RecordedKernel(self, definition, self.host(**definition))

    def save(self) -> None:
        """Write the launches beside their units."""
        (self.folder / "launches.json").write_text(json.dumps(self.launches))


@dataclass(frozen=True, slots=True)
class RecordedKernel:
    """See `mx.fast.metal_kernel`."""

    recorder: Recorder
    definition: dict[str, Any]
    host: HostKernel

    def __call__(self, *, inputs: Sequence[Any], **call: Any) -> list[mx.array]:
        arrays = [value if isinstance(value, mx.array) else mx.array(value) for value in inputs]
        generated = generate(self.host.kernel, arrays, call)
        checked = self.recorder.kind == "checked"
        if checked:
            outputs = self.host(inputs=arrays, **call)
        else:
            shapes = zip(call["output_shapes"], call["output_dtypes"], strict=True)
            outputs = [mx.zeros(shape, dtype) for shape, dtype in shapes]
        text = unit(generated)
        name = digest(text)
        (self.recorder.folder / f"{name}.cu").write_text(text)
        self.recorder.launches.append(
            {
                "unit": name,
                "kernel": self.definition["name"],
                "kind": self.recorder.kind,
                "label": self.recorder.label,
                "grid": generated.grid,
                "threadgroup": generated.threadgroup,
                "inputs": list(_inputs(generated, arrays, not checked)),
                "outputs": [_described(array, checked) for array in outputs],
            }
        )
        return outputs


def _inputs(generated: Generated, arrays: list[mx.array], timed: bool) -> Iterator[dict[str, Any]]:
    buffers = [b for b in generated.buffers if b.space != "device"]
    for buffer, data in zip(buffers, bound(generated, arrays), strict=True):
        drawn_there = timed and len(data) > INLINE_BYTES
        content = {"random": True} if drawn_there else {"data": _text(data)}
        yield {"type": buffer.type, "bytes": len(data)} | content


def _described(array: mx.array, with_data: bool) -> dict[str, Any]:
    described = {"type": str(array.dtype).removeprefix("mlx.core."), "bytes": array.nbytes}
    return described | ({"data": _text(bytes_of(array))} if with_data else {})


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
