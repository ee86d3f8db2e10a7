"""The native library as a file: its name, which holds the hash of its sources, and its making.

Used by the build of the package and, in a source tree, when the sources have changed since. Knows
nothing of the engine: the build loads this module by its path, before anything is installed.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"

# -ffp-contract: a * b + c is one operation with one rounding, as the sums in product.h assume.
FLAGS = (
    *("-std=c11", "-D_GNU_SOURCE", "-O3", "-g0", "-ffp-contract=fast", "-fno-math-errno"),
    *("-Wall", "-Wextra", "-Wno-psabi", "-fvisibility=hidden", "-fPIC", "-shared", "-pthread"),
)
# The oldest systems that MLX runs on. With a target, zig brings the system's headers, too.
ZIG_TARGETS = {
    ("darwin", "arm64"): "aarch64-macos.14.0",
    ("linux", "x86_64"): "x86_64-linux-gnu.2.28",
    ("linux", "aarch64"): "aarch64-linux-gnu.2.28",
}


class CompileFailed(Exception):
    """No compiler was found, or it refused the sources."""


def sources(folder: Path = FOLDER) -> list[Path]:
    """The C files and headers, in order; none in a bundle, which carries the library alone."""
    return sorted([*folder.glob("*.c"), *folder.glob("*.h")])


def source_hash(folder: Path = FOLDER) -> str:
    """What the library's file name says: it changes with any source and any flag."""
    digest = hashlib.sha256(repr(FLAGS).encode())
    for source in sources(folder):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def library_path(folder: Path = FOLDER) -> Path:
    """Where the library of these very sources lies, or would lie."""
    return folder / f"martlet-{source_hash(folder)}{SUFFIX}"


def compile_library(folder: Path = FOLDER) -> Path:
    """Build the library beside its sources, unless it is there; older ones are deleted.

    Raises CompileFailed, or OSError where the folder cannot be written to.
    """
    path = library_path(folder)
    if path.exists():
        return path
    with _sole_builder(folder):
        if not path.exists():  # another process may have built it meanwhile
            _build(folder, path)
    return path


@contextmanager
def _sole_builder(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # falls with the descriptor, or the process
        yield
    finally:
        os.close(descriptor)


def _build(folder: Path, path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as scratch:
        fresh = Path(scratch) / path.name
        _compile(folder, fresh)
        os.replace(fresh, path)
    for stale in set(folder.glob(f"martlet-*{SUFFIX}")) - {path}:
        stale.unlink(missing_ok=True)


def compiler() -> list[str]:
    """The command of a C compiler: zig's where it is installed, else the system's."""
    if find_spec("ziglang"):
        target = ZIG_TARGETS.get((sys.platform, os.uname().machine))
        command = [sys.executable, "-m", "ziglang", "cc"]
        return [*command, "-target", target] if target else command
    return ["cc"]


def _compile(folder: Path, output: Path) -> None:
    units = [str(source) for source in sources(folder) if source.suffix == ".c"]
    command = [*compiler(), *FLAGS, "-o", str(output), *units, "-lm"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise CompileFailed(f"there is no C compiler: {command[0]} was not found") from error
    if done.returncode:
        raise CompileFailed(f"the native core does not compile:\n{done.stderr}")
