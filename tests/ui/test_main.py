"""The application as a process: it starts light, once a folder, ends cleanly, and stays offline."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings
from pytestqt.qtbot import QtBot

from app import paths
from app.installed_models import DEMO, is_model
from app.single_instance import InstanceLock
from tests.ui.offline import can_guard

ROOT = Path(__file__).parents[2]
WHOLE_APP = ROOT / "tests" / "ui" / "whole_app.py"
FAKE_ENGINE = ROOT / "tests" / "app" / "fake_engine.py"
PATIENCE_S = 240  # for a slow machine; nothing waits for it where all is well

HEAVY = (
    "mlx",
    "numpy",
    "huggingface_hub",
    "pygments",
    "ziamath",
    "tokenizers",
    "jinja2",
    "keyring",
)


def python(*arguments: object, **options: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,  # type: ignore[call-overload]
    )


def finished(process: "subprocess.Popen[str]") -> tuple[int, str]:
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out + err


def test_starting_imports_nothing_heavy() -> None:
    words = f"import app.ui.main, sys; print([m for m in {HEAVY} if m in sys.modules])"
    status, output = finished(python("-c", words))
    assert (status, output.strip()) == (0, "[]")


@pytest.fixture
def first(martlet_home: Path) -> Iterator["subprocess.Popen[str]"]:
    """An application that runs and answers."""
    process = python("-m", "app")
    deadline = time.monotonic() + PATIENCE_S
    while not InstanceLock(paths.data_folder()).summon_other():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)  # it tells nobody when it begins to listen
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()


def test_second_start_raises_the_first_and_ends(
    qtbot: QtBot, first: "subprocess.Popen[str]"
) -> None:
    status, output = finished(python("-m", "app"))
    assert status == 0, output
    assert first.poll() is None


def test_after_a_kill_it_starts_again(qtbot: QtBot, first: "subprocess.Popen[str]") -> None:
    first.kill()
    first.wait(PATIENCE_S)
    lock = InstanceLock(paths.data_folder())
    assert lock.acquire()
    lock.release()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_polite_kill_quits_and_keeps_the_windows(
    qtbot: QtBot, first: "subprocess.Popen[str]", number: signal.Signals
) -> None:
    first.send_signal(number)
    status, output = finished(first)
    assert status == 0, output
    state = QSettings(str(paths.window_file(paths.data_folder())), QSettings.Format.IniFormat)
    assert state.value("windows/0/geometry") is not None


def test_data_folder_that_cannot_be_made_is_said(martlet_home: Path, tmp_path: Path) -> None:
    """The dialog would wait for a person: a process that shows it does not end by itself."""
    martlet_home.write_text("a file where the folder should be")
    process = python("-c", REFUSING)
    status, output = finished(process)
    assert status == 1, output
    assert "cannot keep its files" in output


REFUSING = """
import sys
from PySide6.QtWidgets import QMessageBox
QMessageBox.exec = lambda box: print(box.text())
from app.ui.main import main
sys.exit(main(["martlet"]))
"""


def whole_app(home: Path, script: Path | None, *options: str) -> tuple[int, str]:
    engine = [sys.executable, str(FAKE_ENGINE), str(script)] if script else []
    return finished(python(WHOLE_APP, home / "data", *options, *engine))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"answers": [{"text": "I am **here**. `x` $y$\n\n```py\n1\n```"}]}))
    return file


needs_guard = pytest.mark.skipif(not can_guard(), reason="seccomp is Linux's")


@needs_guard
def test_guard_kills_whoever_asks_for_an_internet_socket() -> None:
    for family, status in (
        ("AF_UNIX", 0),
        ("AF_INET", -signal.SIGSYS),
        ("AF_INET6", -signal.SIGSYS),
    ):
        words = (
            "from tests.ui.offline import forbid_network; import socket;"
            f"forbid_network(); socket.socket(socket.{family})"
        )
        assert finished(python("-c", words))[0] == status, family


@needs_guard
def test_a_whole_life_makes_no_connection(martlet_home: Path, script: Path) -> None:
    status, output = whole_app(martlet_home, script, "--offline")
    assert status == 0, output


@needs_guard
@pytest.mark.skipif(not is_model(DEMO), reason="the built-in model is not here")
def test_a_whole_life_with_the_real_engine_makes_no_connection(martlet_home: Path) -> None:
    status, output = whole_app(martlet_home, None, "--offline")
    assert status == 0, output


def test_no_process_is_left(martlet_home: Path, script: Path) -> None:
    """Engine and typesetter end with the application, however it ends."""
    process = python(
        WHOLE_APP,
        martlet_home / "data",
        sys.executable,
        FAKE_ENGINE,
        script,
        start_new_session=True,
    )
    status, output = finished(process)
    assert status == 0, output
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)  # a process group is there as long as one member is
