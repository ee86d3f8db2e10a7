"""The whole core under sanitizers: driver.c, built together with it by the system's compiler.

A build takes long and is kept until a source changes. Not every system has a compiler with
sanitizers; a release is built where there is one.
"""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from engine.native import library

DRIVER = Path(__file__).with_name("driver.c")
SANITIZERS = ("address,undefined", "thread")
# Less is faster to build; more than -O0, so that vectors stay in registers as in the product.
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-g1", "-ffp-contract=fast", "-Wall", "-Wextra"]
FLAGS += ["-Werror", "-Wno-psabi", "-fno-sanitize-recover=all", "-pthread"]


def can_build(sanitizer: str, folder: Path) -> bool:
    """Whether the system's compiler makes programs with this sanitizer that run."""
    source, program = folder / "empty.c", folder / "empty"
    source.write_text("int main(void) { return 0; }\n")
    command = ["cc", f"-fsanitize={sanitizer}", str(source), "-o", str(program)]
    try:
        return (
            subprocess.run(command, capture_output=True).returncode == 0
            and subprocess.run([program], capture_output=True).returncode == 0
        )
    except FileNotFoundError:
        return False


def build(sanitizer: str, folder: Path) -> Path:
    """The driver; only made when a source is not as it was."""
    driver = hashlib.sha256(DRIVER.read_bytes() + repr(FLAGS).encode()).hexdigest()[:16]
    name = f"{sanitizer.replace(',', '-')}-{library.source_hash()}-{driver}"
    program = folder / name
    if not program.exists():
        units = [str(path) for path in library.sources() if path.suffix == ".c"]
        command = ["cc", *FLAGS, f"-fsanitize={sanitizer}", f"-I{library.FOLDER}"]
        fresh = folder / f"{name}.{os.getpid()}"
        subprocess.run([*command, *units, str(DRIVER), "-o", str(fresh), "-lm"], check=True)
        for stale in folder.glob(f"{sanitizer.replace(',', '-')}-*"):
            if stale != fresh:
                stale.unlink()
        fresh.rename(program)
    return program


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_the_core_is_clean(sanitizer: str, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    if not can_build(sanitizer, tmp_path):
        pytest.skip(f"there is no compiler with -fsanitize={sanitizer}")
    assert pytestconfig.cache is not None
    program = build(sanitizer, pytestconfig.cache.mkdir("native-driver"))
    done = subprocess.run([program, "plain", "avx2", "avx512"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
