"""The interpreter: found or fetched by uv, copied without what no program here imports."""

import shutil
import sys
from pathlib import Path

from bundle.command import run
from bundle.target import PYTHON, BuildFailed, Bundle, Target

NOT_NEEDED = (
    *("test", "idlelib", "tkinter", "turtledemo", "turtle.py", "ensurepip", "venv", "lib2to3"),
    *("site-packages", "__pycache__", "config-*", "pydoc_data", "*.a", "EXTERNALLY-MANAGED"),
    *("_curses*", "curses", "libncurses*", "libpanel*", "_pyrepl", "wsgiref", "xmlrpc"),
    *("_test*", "_ctypes_test*", "_xxtestfuzz*", "xxlimited*", "xxsubtype*", "_tkinter*"),
)


def find_interpreter(target: Target) -> Path:
    """The prefix of a relocatable CPython: uv's own, downloaded where it is missing."""
    if not target.is_host:
        raise BuildFailed(f"Give --python DIR: the prefix of a CPython {PYTHON} for {target.name}.")
    try:
        run(["uv", "python", "install", "--no-bin", PYTHON])
        found = run(["uv", "python", "find", "--managed-python", PYTHON])
    except BuildFailed as error:
        raise BuildFailed(
            f"{error}\nGive --python DIR: the prefix of a CPython {PYTHON} with a shared library."
        ) from error
    return Path(found.strip()).resolve().parent.parent


def interpreter_of_host(target: Target, prefix: Path) -> Path:
    """A program that writes the bytecode of this version: the bundle's, or one that uv finds."""
    if target.is_host:
        return prefix / "bin" / f"python{PYTHON}"
    if sys.version_info[:2] == tuple(map(int, PYTHON.split("."))):
        return Path(sys.executable)
    try:
        return Path(run(["uv", "python", "find", PYTHON]).strip())
    except BuildFailed as error:
        raise BuildFailed(f"No Python {PYTHON} writes the bytecode: run this by one.") from error


def copy_interpreter(prefix: Path, bundle: Bundle) -> None:
    """The library and the standard library, and what that loads from beside itself."""
    library = prefix / "lib" / bundle.target.libpython
    stdlib = prefix / "lib" / f"python{PYTHON}"
    for needed in (library, stdlib / "LICENSE.txt", stdlib / "os.py"):
        if not needed.exists():
            raise BuildFailed(f"{prefix} is no CPython {PYTHON} to embed: {needed} is missing.")
    bundle.libpython.parent.mkdir(parents=True)
    shutil.copyfile(library.resolve(), bundle.libpython)
    shutil.copytree(stdlib, bundle.stdlib, ignore=shutil.ignore_patterns(*NOT_NEEDED))
    _forget_prefix(prefix, bundle)


def _forget_prefix(prefix: Path, bundle: Bundle) -> None:
    """Where it was installed is written into it, also into its code: put as many slashes.

    The last folder's name stays: linkers keep a string that ends another one only once, and this
    one may end with the version.
    """
    parent, name = bytes(prefix.parent), prefix.name.encode()
    for file in (bundle.libpython, *bundle.stdlib.rglob("*")):
        if file.is_file():
            data = file.read_bytes()
            fresh = data.replace(bytes(prefix), b"/" * len(parent) + b"/" + name)
            if fresh != data:
                file.write_bytes(fresh)
