"""Native code: the launcher, and the engine's native core.

Zig compiles for any target on any machine. On a Mac the system's compiler makes the launcher: the
SDK that a program was linked with decides which look AppKit gives it.
"""

import runpy
import sys
from pathlib import Path

from bundle.command import run
from bundle.target import MACOS_FLOOR, PYTHON, Bundle

HERE = Path(__file__).resolve().parents[1]
ZIG = ("uv", "tool", "run", "--quiet", "--from", "ziglang==0.17.1", "python-zig", "cc")
STRICT = ("-std=c11", "-Os", "-g0", "-Wall", "-Wextra", "-Werror")


def compile_launcher(prefix: Path, bundle: Bundle) -> None:
    """`prefix`: the interpreter whose headers, and on Linux library, it is built with."""
    bundle.program.parent.mkdir(parents=True)
    headers = f"-I{prefix / 'include' / f'python{PYTHON}'}"
    common = (*STRICT, f'-DPYTHON="python{PYTHON}"', "-D_GNU_SOURCE", headers, HERE / "launcher.c")
    run([*_launcher_compiler(bundle), *common, *_linked(bundle), "-o", bundle.program])


def compile_native_core(root: Path, bundle: Bundle) -> None:
    """The library that `engine.native` loads, named for the hash of its sources."""
    library = runpy.run_path(str(root / "engine" / "native" / "library.py"))
    folder = root / "engine" / "native"
    name = f"martlet-{library['source_hash'](folder)}{bundle.target.suffix}"
    units = [path for path in library["sources"](folder) if path.suffix == ".c"]
    named = [f"-Wl,-install_name,@rpath/{name}"] if bundle.target.is_macos else ["-Wl,-s"]
    output = bundle.source / "engine" / "native" / name
    run(
        [
            *ZIG,
            "-target",
            bundle.target.zig,
            *library["FLAGS"],
            *named,
            *units,
            "-lm",
            "-o",
            output,
        ],
        cwd=folder,
    )


def _launcher_compiler(bundle: Bundle) -> tuple[str, ...]:
    if bundle.target.is_macos and sys.platform == "darwin":
        return ("cc", "-arch", "arm64", f"-mmacosx-version-min={MACOS_FLOOR}")
    return (*ZIG, "-target", bundle.target.zig)


def _linked(bundle: Bundle) -> tuple[str | Path, ...]:
    """On macOS a stub names the library's symbols, and the place it has in the bundle."""
    if bundle.target.is_macos:
        return (HERE / "libpython.tbd",)
    own = "-Wl,-rpath,$ORIGIN/../Frameworks,--allow-shlib-undefined,-s"
    return (bundle.libpython, own)
