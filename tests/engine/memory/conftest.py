"""A library that exports what the engine calls on macOS, compiled once a session."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("foreign.c")


@pytest.fixture(scope="session")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The stand-in for libSystem and for the Objective-C runtime."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler for the library that stands in for macOS")
    library = tmp_path_factory.mktemp("foreign") / "foreign.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-pthread"]
    subprocess.run([*command, "-o", str(library), str(SOURCE)], check=True)
    return ctypes.CDLL(str(library))
