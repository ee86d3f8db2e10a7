"""Shader: one file of `engine/shaders`, ready to be built by `mx.fast.metal_kernel`.

A `.metal` file holds the body of a kernel, in real syntax; MLX writes the signature around it from
the names given here. A header (`.h`) holds functions that bodies share. Sources are ASCII, because
MLX hands them to Metal as such.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, cast

import mlx.core as mx

SIMD_WIDTH = 32

Kernel = Callable[..., list[mx.array]]  # what mx.fast.metal_kernel returns
Build = Callable[..., Kernel]
metal_kernel = cast("Build", mx.fast.metal_kernel)


@dataclass(frozen=True, slots=True)
class Shader:
    """The names that a body binds to, in the order of its buffers."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    headers: tuple[str, ...] = ()

    def build(self, build: Build) -> Kernel:
        """The callable kernel. Metal compiles it when it first runs."""
        return build(
            name=self.name,
            input_names=list(self.inputs),
            output_names=list(self.outputs),
            source=text(f"{self.name}.metal"),
            header="".join(text(f"{name}.h") for name in self.headers),
        )


@dataclass(frozen=True, slots=True)
class ShaderState:
    """Whether a group of shaders is used, and if not, why."""

    group: str
    on: bool
    reason: str = ""


@cache
def text(name: str) -> str:
    """A file of `engine/shaders`."""
    return files("engine.shaders").joinpath(name).read_text("ascii")


def grid(columns: int, rows: int, simdgroups: int) -> dict[str, Any]:
    """Threadgroups of `simdgroups`, `columns` of them by `rows`, as MLX's arguments."""
    lanes = SIMD_WIDTH * simdgroups
    return {"grid": (columns * lanes, rows, 1), "threadgroup": (lanes, 1, 1)}
