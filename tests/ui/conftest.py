"""Qt without a screen, data folders of their own, and nothing left behind after a test."""

import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"  # before anything imports Qt

import gc
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QLocale, QProcess, QThread, QTimer
from PySide6.QtGui import QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.ui.appearance import plain_palette


def pytest_configure(config: pytest.Config) -> None:
    """What the offscreen platform says about itself is no fault of ours."""
    config.addinivalue_line("qt_log_ignore", "This plugin does not support")


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Fail a test that leaves a thread, a running timer or a child process behind."""
    threads_before = set(threading.enumerate())
    children_before = set(_children())
    gc.freeze()  # what was there before is not looked at again, which is most of the time
    gc.disable()  # as in the app: see app.garbage
    yield
    gc.enable()
    if QApplication.instance() is None:
        return
    # The offscreen platform frees what was copied after Python has ended, which crashes.
    QApplication.clipboard().clear()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    assert _running_qt_objects() == []
    assert [t.name for t in threading.enumerate() if t not in threads_before] == []
    assert set(_children()) <= children_before


@pytest.fixture(autouse=True)
def martlet_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder, so that no test sees another's or the user's."""
    home = tmp_path / "martlet"
    monkeypatch.setenv("MARTLET_HOME", str(home))
    return home


@pytest.fixture(autouse=True)
def english() -> None:
    """Figures and dates as the tests expect them."""
    QLocale.setDefault(QLocale("en_GB"))


@pytest.fixture(params=[False, True], ids=["light", "dark"])
def palette(request: pytest.FixtureRequest, qtbot: QtBot) -> Iterator[QPalette]:
    """The application in each of the two schemes."""
    before = QGuiApplication.palette()
    QGuiApplication.setPalette(plain_palette(dark=request.param))
    yield QGuiApplication.palette()
    QGuiApplication.setPalette(before)


def _running_qt_objects() -> list[str]:
    """Timers, threads and processes that still do something."""
    found = []
    for thing in gc.get_objects():
        if not isinstance(thing, QTimer | QThread | QProcess) or not isValid(thing):
            continue
        if isinstance(thing, QTimer) and thing.isActive():
            found.append(f"timer of {thing.interval()} ms in {thing.parent()}")
        elif isinstance(thing, QThread) and thing.isRunning() and not thing.isMainThread():
            found.append(f"thread {thing}")
        elif isinstance(thing, QProcess) and thing.state() != QProcess.ProcessState.NotRunning:
            found.append(f"process {thing.program()}")
    return found


def _children() -> list[str]:
    """Ids of this process's children; where the system has no /proc, none are seen."""
    tasks = Path("/proc/self/task")
    if not tasks.is_dir():
        return []
    texts = [(task / "children").read_text() for task in tasks.iterdir()]
    return " ".join(texts).split()
