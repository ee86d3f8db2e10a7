"""The launcher, compiled against the interpreter that runs the tests, in a tiny bundle."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from tests.packaging.sound_bundle import ROOT, write

VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
LIBRARIES = sysconfig.get_config_var("LIBDIR") or ""
HEADERS = sysconfig.get_path("include")

can_compile = (
    shutil.which("cc") is not None
    and sysconfig.get_config_var("Py_ENABLE_SHARED")
    and Path(HEADERS, "Python.h").exists()
)
pytestmark = pytest.mark.skipif(not can_compile, reason="no compiler, or no shared libpython")

APP = """
import json, multiprocessing, os, sys
if sys.argv[1:] == ["--leave-with-three"]:
    sys.exit(3)
if sys.argv[1:] == ["--lock"]:  # starts the helper of multiprocessing, as every download does
    multiprocessing.set_start_method("spawn")
    multiprocessing.RLock()
facts = {"arguments": sys.argv[1:], "executable": sys.executable, "path": sys.path}
print(json.dumps(facts | {"utf8": sys.flags.utf8_mode, "module": __name__}))
"""


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In a folder with blanks, accents and an apostrophe."""
    folder = tmp_path_factory.mktemp("bundle") / "l'été à deux" / "Martlet"
    write(folder / "Resources" / "src" / "app" / "__main__.py", APP)
    write(folder / "Resources" / "src" / "app" / "__init__.py", "")
    (folder / "Resources" / "site-packages").mkdir()
    (folder / "Resources" / "python" / "lib").mkdir(parents=True)
    (folder / "Resources" / "python" / "lib" / VERSION).symlink_to(sysconfig.get_path("stdlib"))
    program = folder / "bin" / "Martlet"
    program.parent.mkdir()
    flags = ("-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", f'-DPYTHON="{VERSION}"')
    linked = (f"-I{HEADERS}", f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}", f"-l{VERSION}")
    source = ROOT / "packaging" / "launcher.c"
    subprocess.run(["cc", *flags, str(source), *linked, "-o", str(program)], check=True)
    return program


def start(launcher: Path, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """With nothing in the environment but `variables`."""
    command = [str(launcher), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=variables, cwd="/")


def facts(launcher: Path, *arguments: str, **variables: str) -> dict[str, Any]:
    done = start(launcher, *arguments, **variables)
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()  # one application, not two
    value: dict[str, Any] = json.loads(line)
    return value


@pytest.mark.parametrize("arguments", [(), ("a file.txt", "/b.py"), ("--self-test",), ("",)])
def test_it_runs_the_application(launcher: Path, arguments: tuple[str, ...]) -> None:
    found = facts(launcher, *arguments)
    assert found["arguments"] == list(arguments)
    assert found["module"] == "__main__"


def test_everything_comes_from_the_bundle(launcher: Path) -> None:
    found = facts(launcher, PYTHONPATH="/elsewhere", PYTHONHOME="/elsewhere")
    resources = launcher.parent.parent / "Resources"
    assert found["executable"] == str(launcher)
    rooms = [Path(place).relative_to(resources).parts[0] for place in found["path"]]
    assert rooms[:4] == ["python", "python", "site-packages", "src"]
    assert found["utf8"] == 1


def test_it_may_be_started_through_a_link(launcher: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(launcher)
    assert facts(tmp_path / "link")["executable"] == str(launcher)


def test_one_dash_makes_it_plain_python(launcher: Path) -> None:
    done = start(launcher, "-c", "import sys; print(sys.argv)", "--self-test")
    assert done.stdout == "['-c', '--self-test']\n"
    done = start(launcher, "-X", "faulthandler", "-m", "app", "word")
    assert json.loads(done.stdout)["arguments"] == ["word"]
    done = subprocess.run([launcher, "-"], input="print(6 * 7)", capture_output=True, text=True)
    assert done.stdout == "42\n"


def test_helpers_of_multiprocessing_open_no_second_application(launcher: Path) -> None:
    assert facts(launcher, "--lock")["arguments"] == ["--lock"]


def test_the_exit_status_is_the_applications(launcher: Path) -> None:
    assert start(launcher, "--leave-with-three").returncode == 3


def test_it_writes_nothing_into_the_bundle(launcher: Path) -> None:
    facts(launcher)
    start(launcher, "-m", "app")
    assert not list((launcher.parent.parent / "Resources" / "src").rglob("*.pyc"))


def test_a_bundle_without_its_python_says_so(launcher: Path, tmp_path: Path) -> None:
    copy = tmp_path / "bin" / "Martlet"
    copy.parent.mkdir()
    shutil.copy2(launcher, copy)
    done = start(copy)
    assert done.returncode != 0
    assert "encodings" in done.stderr
    assert os.listdir(tmp_path) == ["bin"]
