"""Generated: the Metal source that MLX makes of one kernel call, and what binds to its buffers.

MLX wraps a kernel's body in a signature that depends on the inputs: small ones lie in the constant
address space, scalars are references, shapes and strides are passed where the body names them.
Nothing of that is imitated here. While a function is exported, MLX (0.32.4) records a kernel call
without a Metal device, and the record holds the source, the grid and the buffers.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

_KERNEL = "[[kernel]] void "
_INSTANTIATION = re.compile(r"\ntemplate \[\[host_name.*\]\] decltype\(([^)]*)\)[^\n]*;\n$")
_BUFFER = re.compile(r"^  (device|const \w+) ([\w<>]+)([*&]) (\w+) \[\[buffer\((\d+)\)\]\]", re.M)
_ATTRIBUTE = re.compile(r"^  uint3? (\w+) \[\[\1\]\]", re.M)


@dataclass(frozen=True, slots=True)
class Buffer:
    """One buffer of the kernel."""

    type: str  # "float"
    pointer: str  # "*" or "&"
    name: str
    space: str  # "device" (an output), "const device" or "const constant"


@dataclass(frozen=True, slots=True)
class Generated:
    """One kernel for one set of dtypes, template arguments and input kinds."""

    name: str
    source: str  # header, signature and body, without the explicit instantiation
    call: str  # the name with its template arguments
    buffers: tuple[Buffer, ...]  # in the order of their indices
    attributes: tuple[str, ...]
    sections: tuple[tuple[bool, bool, bool], ...]  # by input: shape, strides, ndim passed too
    grid: tuple[int, int, int]
    threadgroup: tuple[int, int, int]


def generate(
    kernel: Callable[..., Any], inputs: Sequence[mx.array], call: dict[str, Any]
) -> Generated:
    """Record the call of a `mx.fast.metal_kernel` with these keyword arguments."""
    records: list[dict[str, Any]] = []
    mx.export_function(records.append, lambda *arrays: kernel(inputs=list(arrays), **call), *inputs)
    arguments = next(r["arguments"] for r in records if r.get("name") == "CustomKernel")
    name, text, *numbers = arguments[:8]
    instantiation = _INSTANTIATION.search(text)
    source = text[: instantiation.start()] if instantiation else text
    signature, _, _ = source.partition(_KERNEL)[2].partition(") {\n")
    return Generated(
        name,
        source,
        instantiation[1] if instantiation else name,
        tuple(_buffers(signature)),
        tuple(_ATTRIBUTE.findall(signature)),
        tuple(arguments[8]),
        tuple(numbers[:3]),
        tuple(numbers[3:]),
    )


def _buffers(signature: str) -> Iterator[Buffer]:
    for position, match in enumerate(_BUFFER.finditer(signature)):
        space, kind, pointer, name, index = match.groups()
        assert int(index) == position, signature
        yield Buffer(kind, pointer, name, space)
