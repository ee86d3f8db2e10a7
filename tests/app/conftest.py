"""Qt without a screen, a scripted engine, and workspaces that are closed after each test."""

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")  # before anything imports Qt

import gc
import json
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from pytestqt.qtbot import QtBot

from app.database import close_database, open_database
from app.workspace import Workspace

FAKE_ENGINE = Path(__file__).parent / "fake_engine.py"
WAIT_MS = 20_000  # for what happens at once on an idle machine

Script = dict[str, Any]
WaitFor = Callable[[Callable[[], object]], None]


@pytest.fixture(autouse=True)
def martlet_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, so that no test sees another's files or the user's."""
    home = tmp_path / "martlet"
    monkeypatch.setenv("MARTLET_HOME", str(home))
    return home


@pytest.fixture(autouse=True)
def _garbage_waits() -> Iterator[None]:
    """As in the app: see app.garbage."""
    gc.freeze()  # what was there before is not looked at again
    gc.disable()
    yield
    if QCoreApplication.instance() is not None:
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    gc.enable()


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    """Every thread that a test started has ended when it ends."""
    before = set(threading.enumerate())
    yield
    left = [t for t in threading.enumerate() if t not in before and not _is_qt(t)]
    for thread in left:
        thread.join(10)
    assert not [thread.name for thread in left if thread.is_alive()]


def _is_qt(thread: threading.Thread) -> bool:
    return thread.name.startswith("Dummy")  # how Python calls threads that Qt made


@pytest.fixture
def engine_command(tmp_path: Path) -> Callable[[Script], list[str]]:
    """The command line of an engine that plays a script."""

    def command(script: Script) -> list[str]:
        path = tmp_path / "script.json"
        path.write_text(json.dumps(script), encoding="utf-8")
        return [sys.executable, str(FAKE_ENGINE), str(path)]

    return command


@pytest.fixture
def make_workspace(
    tmp_path: Path, qapp: object, engine_command: Callable[[Script], list[str]]
) -> Iterator[Callable[..., Workspace]]:
    """Opens the data folder with an engine that plays a script."""
    made: list[Workspace] = []

    def make(script: Script | None = None, **settings: Any) -> Workspace:
        workspace = Workspace(tmp_path / "data", engine_command(script or {}))
        made.append(workspace)
        workspace.settings.update(model="/models/fake", titles_by_model=False, **settings)
        return workspace

    yield make
    for workspace in made:
        workspace.close()


@pytest.fixture
def wait_for(qtbot: QtBot) -> WaitFor:
    """Runs the event loop until something holds."""

    def wait(holds: Callable[[], object]) -> None:
        qtbot.waitUntil(lambda: bool(holds()), timeout=WAIT_MS)

    return wait


class Heard:
    """Keeps what a signal told, in order."""

    def __init__(self, signal: Any) -> None:
        self.told: list[Any] = []
        signal.connect(self._hear)

    def _hear(self, *values: Any) -> None:
        self.told.append(values[0] if len(values) == 1 else values)

    @property
    def last(self) -> Any:
        """The latest."""
        return self.told[-1]

    def __len__(self) -> int:
        return len(self.told)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A new database, in autocommit mode."""
    path = tmp_path / "conversations.db"
    opened = open_database(path, tmp_path / "backups")
    yield opened.connection
    close_database(path, opened.connection)
