"""HostKernel: a `mx.fast.metal_kernel` that runs on the processor, under sanitizers.

It takes what MLX's own takes. The source that MLX generates is compiled, as it is, by g++ or clang
behind the prelude `host.h`, and served by a process of its own: a fault ends that process, not the
test. Linux; needs a C++ compiler with its sanitizers and nothing else.
"""

import hashlib
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import mlx.core as mx
import numpy as np

from tests.shaders.generated import Generated, generate

HERE = Path(__file__).parent
FLAGS = [
    *("-std=c++17", "-O1", "-g1", "-Wall", "-Wextra", "-Werror"),
    *("-Wno-attributes", "-Wno-unknown-pragmas"),
    *("-Wno-unused-parameter", "-Wno-unused-function"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    "-ftrivial-auto-var-init=pattern",  # an uninitialised variable is garbage, not zero
]
FORWARD_BACKWARD_SHUFFLED = 3


class HostFault(AssertionError):
    """A sanitizer or the lanes found a fault; the text is their report."""


@cache
def compiler() -> str | None:
    """The first C++ compiler that builds and runs a sanitized program, or None."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.cpp")
        source.write_text("int main() { return 0; }\n")
        for name in (os.environ.get("CXX"), "g++", "clang++"):
            if name and shutil.which(name) and _runs(name, source):
                return name
    return None


def _runs(name: str, source: Path) -> bool:
    program = source.with_suffix("")
    built = subprocess.run([name, *FLAGS, source, "-o", program], capture_output=True)
    return built.returncode == 0 and subprocess.run([program]).returncode == 0


class HostKernel:
    """See `mx.fast.metal_kernel`. `schedules`: in how many orders of lanes a call is run."""

    def __init__(self, folder: Path, schedules: int, definition: dict[str, Any]) -> None:
        self.folder = folder
        self.schedules = schedules
        self.kernel = mx.fast.metal_kernel(**definition)
        self.calls: dict[str, Generated] = {}  # by what a call looks like
        self.programs: dict[str, Program] = {}

    def __call__(self, *, inputs: Sequence[Any], **call: Any) -> list[mx.array]:
        arrays = [value if isinstance(value, mx.array) else mx.array(value) for value in inputs]
        look = repr([[(a.shape, a.dtype) for a in arrays], call])
        generated = self.calls.get(look)
        if generated is None:
            generated = self.calls[look] = generate(self.kernel, arrays, call)
        program = self.programs.get(generated.name)
        if program is None:
            program = Program(build(unit(generated), self.folder))
            self.programs[generated.name] = program
        shapes, dtypes = call["output_shapes"], call["output_dtypes"]
        sizes = [int(np.prod(s)) * d.size for s, d in zip(shapes, dtypes, strict=True)]
        head = request_head(generated, self.schedules, len(sizes))
        outputs = program.run(request(head, bound(generated, arrays), sizes), sizes)
        return [
            mx.array(np.frombuffer(data, np.uint8)).view(dtype).reshape(shape)
            for data, shape, dtype in zip(outputs, shapes, dtypes, strict=True)
        ]

    def close(self) -> None:
        """End the programs."""
        for program in self.programs.values():
            program.close()


class HostTarget:
    """Builds HostKernels from what `mx.fast.metal_kernel` takes, and ends them all."""

    def __init__(self, folder: Path, schedules: int = FORWARD_BACKWARD_SHUFFLED) -> None:
        self.folder = folder
        self.schedules = schedules
        self.kernels: list[HostKernel] = []

    def __call__(self, **definition: Any) -> HostKernel:
        self.kernels.append(HostKernel(self.folder, self.schedules, definition))
        return self.kernels[-1]

    def close(self) -> None:
        """End every program that was started."""
        for kernel in self.kernels:
            kernel.close()


def bound(generated: Generated, arrays: Sequence[mx.array]) -> list[bytes]:
    """What lies in the input buffers, in order: data, then shape, strides and ndim where named."""
    buffers = []
    for array, (shape, strides, ndim) in zip(arrays, generated.sections, strict=True):
        buffers.append(bytes_of(array))
        if array.ndim and shape:
            buffers.append(np.array(array.shape, np.int32).tobytes())
        if array.ndim and strides:
            steps = np.cumprod([1, *array.shape[:0:-1]])[::-1]
            buffers.append(steps.astype(np.int64).tobytes())
        if array.ndim and ndim:
            buffers.append(np.int32(array.ndim).tobytes())
    return buffers


def bytes_of(array: mx.array) -> bytes:
    """The elements, row by row."""
    view = memoryview(array)
    if array.ndim == 0 or not view.c_contiguous:
        view = memoryview(mx.contiguous(array).reshape(-1))
    return bytes(view.cast("B"))


def unit(generated: Generated) -> str:
    """The translation unit: prelude, MLX's source, and the call of it from raw buffers."""
    return (
        f'#include "host.h"\n{generated.source}\n'
        f"void kernel_lane(void* const* buffers, const Place& place) {{\n"
        f"  {call_text(generated)}\n}}\n"
    )


def call_text(generated: Generated) -> str:
    """The call of the kernel with `buffers` and what it asks of `place`."""
    arguments = [
        f"{'*' if b.pointer == '&' else ''}({b.type}*)buffers[{index}]"
        for index, b in enumerate(generated.buffers)
    ]
    arguments += [f"place.{name}" for name in generated.attributes]
    return f"{generated.call}(\n    " + ",\n    ".join(arguments) + ");"


def request_head(at: Generated, schedules: int, outputs: int) -> bytes:
    """The fixed part of a request."""
    inputs = len(at.buffers) - outputs
    return struct.pack("=9i", *at.grid, *at.threadgroup, schedules, inputs, outputs)


def request(head: bytes, inputs: list[bytes], outputs: list[int]) -> bytes:
    """A launch as the servers read it: see host_main.cpp."""
    parts = [head]
    for data in inputs:
        parts += [struct.pack("=q", len(data)), data]
    parts += [struct.pack("=q", size) for size in outputs]
    return b"".join(parts)


class Program:
    """A compiled kernel as a process, started by the first launch and after a fault."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.process: subprocess.Popen[bytes] | None = None
        self.report: IO[bytes] | None = None

    def run(self, request: bytes, outputs: list[int]) -> list[bytes]:
        """One launch. Raises HostFault."""
        answer = self._ask(request, sum(outputs))
        ends = np.cumsum([0, *outputs])
        return [answer[a:b] for a, b in pairwise(ends)]

    def close(self) -> str:
        """End the process; what it had to report."""
        if self.process is None:
            return ""
        assert self.process.stdin
        assert self.process.stdout
        assert self.report
        self.process.stdin.close()  # it stops when its input does
        self.process.stdout.close()
        self.process.wait()
        self.process = None
        with self.report as report:
            report.seek(0)
            return report.read().decode(errors="replace")

    def _ask(self, request: bytes, size: int) -> bytes:
        if self.process is None:
            self._start()
        assert self.process
        assert self.process.stdin
        assert self.process.stdout
        answer = b""
        with suppress(BrokenPipeError):
            self.process.stdin.write(request)
            self.process.stdin.flush()
            answer = self.process.stdout.read(size)
        if len(answer) < size:
            raise HostFault(self.close())
        return answer

    def _start(self) -> None:
        self.report = tempfile.TemporaryFile()  # noqa: SIM115 (close() closes it)
        self.process = subprocess.Popen(
            [self.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.report,
            # The fibers' stacks are ours: no fake ones. Nothing is freed at the end.
            env={"ASAN_OPTIONS": "detect_stack_use_after_return=0:detect_leaks=0"},
        )


@cache
def preludes() -> str:
    """What every program is made of beside its kernel."""
    names = ("host.h", "lanes.h", "host_main.cpp")
    return repr(FLAGS) + "".join((HERE / name).read_text() for name in names)


def build(text: str, folder: Path) -> Path:
    """The program made of `text`; compiled once."""
    program = folder / digest(text + preludes())
    if not program.exists():
        source = folder / f"{program.name}.cpp"
        source.write_text(text)
        compile_to(program, source, runtime(folder))
    return program


def runtime(folder: Path) -> Path:
    """The lanes and the server as an object file."""
    compiled = folder / f"{digest(preludes())}.o"
    if not compiled.exists():
        compile_to(compiled, "-c", HERE / "host_main.cpp")
    return compiled


def digest(text: str) -> str:
    """A file name for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def compile_to(target: Path, *arguments: str | Path) -> None:
    """Run the compiler; the target appears whole or not at all."""
    name = compiler()
    assert name, "no C++ compiler"
    made = target.with_suffix(f".{os.getpid()}")
    command = [name, *FLAGS, f"-I{HERE}", *arguments, "-o", made]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    made.replace(target)
