"""What the engine tells becomes banners that state facts, and go with them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QToolButton
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.blocks.typesetter import Typesetter
from app.conversation import Failure
from app.engine_state import EngineState, EngineStats, MemoryNote, StorageNote
from app.safe_start import Suspicion
from app.ui.banner import Banner
from app.ui.main_window import MainWindow
from app.ui.menus import Menus
from tests.ui.fakes import MODEL, FakeWorkspace, loaded_state

SHORT = "Memory is critically short, so the answer waits. Close other apps, or continue."
HOT = "The machine is too hot, so the answer waits. It goes on when it has cooled."


@pytest.fixture
def workspace(qtbot: QtBot) -> FakeWorkspace:
    made = FakeWorkspace()
    made.settings.update(model=MODEL)
    made.engine.state = loaded_state(answering="g")
    return made


@pytest.fixture
def window(workspace: FakeWorkspace, tmp_path: Path) -> Iterator[MainWindow]:
    made = MainWindow(workspace.real, Menus(lambda name: None), Typesetter(), tmp_path)
    made.show_first("")
    yield made
    if isValid(made):
        made.close()


def stats(**changes: object) -> EngineStats:
    figures = loaded_state().stats
    assert figures is not None
    return replace(figures, **changes)  # type: ignore[arg-type]


def banner(window: MainWindow, key: str) -> Banner:
    shown = window.banners.banner(key)
    assert shown is not None, key
    return shown


def buttons(window: MainWindow, key: str) -> dict[str, QPushButton]:
    return {b.text(): b for b in banner(window, key).findChildren(QPushButton)}


def test_pause_for_memory_says_why_and_can_be_overruled(
    qtbot: QtBot, window: MainWindow, workspace: FakeWorkspace
) -> None:
    workspace.engine.become(stats=stats(paused=SHORT))
    assert banner(window, "pause").accessibleName() == SHORT
    assert window.status.line().startswith("Waiting for memory")
    qtbot.mouseClick(buttons(window, "pause")["Continue"], Qt.MouseButton.LeftButton)
    assert workspace.engine.names() == ["go_on"]
    workspace.engine.become(stats=stats(paused=SHORT, hit_rate=0.5))  # said before it went on
    assert window.banners.banner("pause") is None


def test_pause_goes_with_the_engine_going_on_and_comes_anew(
    window: MainWindow, workspace: FakeWorkspace
) -> None:
    workspace.engine.become(stats=stats(paused=SHORT))
    workspace.engine.become(stats=stats())
    assert window.banners.banner("pause") is None
    workspace.engine.become(stats=stats(paused=SHORT))
    assert window.banners.banner("pause") is not None
    workspace.engine.become(answering=None)
    assert window.banners.banner("pause") is None


def test_pause_cannot_be_closed_unread(window: MainWindow, workspace: FakeWorkspace) -> None:
    workspace.engine.become(stats=stats(paused=SHORT))
    assert not banner(window, "pause").findChildren(QToolButton)


def test_heat_is_not_overruled(window: MainWindow, workspace: FakeWorkspace) -> None:
    workspace.engine.become(stats=stats(paused=HOT, thermal="critical"))
    assert banner(window, "pause").accessibleName() == HOT
    assert buttons(window, "pause") == {}
    assert window.status.line().startswith("Waiting to cool")


def test_idle_engine_has_nothing_to_pause(window: MainWindow, workspace: FakeWorkspace) -> None:
    workspace.engine.become(answering=None, stats=stats(paused=SHORT))
    assert window.banners.banner("pause") is None
    assert window.status.line().startswith("Ready")


def test_a_shrink_is_told_in_the_engines_words(
    window: MainWindow, workspace: FakeWorkspace
) -> None:
    words = "Memory is short: expert pool 4.0 → 1.5 GB; answers slower until it recovers."
    plan = loaded_state().plan
    assert plan is not None
    workspace.engine.memory_changed.emit(MemoryNote("critical", words, plan))
    assert banner(window, "memory").accessibleName() == words
    window.banners.hide_banner("memory")


def test_files_that_came_back(window: MainWindow, workspace: FakeWorkspace) -> None:
    words = "The model's files can be read again."
    workspace.engine.storage_changed.emit(StorageNote(True, words))
    assert banner(window, "files").accessibleName() == words
    window.banners.hide_banner("files")


def test_files_that_are_other_ones(
    qtbot: QtBot, window: MainWindow, workspace: FakeWorkspace
) -> None:
    words = "The model's files have changed. Load the model again."
    workspace.engine.storage_changed.emit(StorageNote(False, words))
    assert banner(window, "files").accessibleName() == words
    qtbot.mouseClick(buttons(window, "files")["Load"], Qt.MouseButton.LeftButton)
    assert workspace.engine.calls == [("load", (MODEL, None))]
    workspace.engine.storage_changed.emit(StorageNote(False, words))
    workspace.engine.become(model="loading")
    assert window.banners.banner("files") is None


def test_a_model_that_was_away_can_be_loaded(
    qtbot: QtBot, window: MainWindow, workspace: FakeWorkspace
) -> None:
    failure = Failure("ModelNotFound", "There is no folder at /Volumes/T7/a.qpack.")
    workspace.engine.become(model="none", load_failure=failure)
    workspace.engine.become(load_failure=None)
    workspace.model_watch.returned.emit("/Volumes/T7/a.qpack")
    assert window.banners.banner("load") is None
    assert banner(window, "files").accessibleName() == "“a” is there again."
    qtbot.mouseClick(buttons(window, "files")["Load"], Qt.MouseButton.LeftButton)
    assert workspace.engine.calls == [("load", ("/Volumes/T7/a.qpack", None))]


def test_after_the_computer_went_down_less_is_offered(
    qtbot: QtBot, workspace: FakeWorkspace, tmp_path: Path
) -> None:
    workspace.engine.state = EngineState()
    workspace.safe_start.suspicion = Suspicion("/m/a.qpack", False, 2_500_000_000)
    window = MainWindow(workspace.real, Menus(lambda name: None), Typesetter(), tmp_path)
    words = banner(window, "safe start").accessibleName()
    assert words == "The computer went down while “a” was in memory, so it was not loaded again."
    assert list(buttons(window, "safe start")) == ["Load with 2.5 GB", "Load as Before"]
    qtbot.mouseClick(buttons(window, "safe start")["Load with 2.5 GB"], Qt.MouseButton.LeftButton)
    assert workspace.engine.calls == [("load", ("/m/a.qpack", 2_500_000_000))]
    assert workspace.settings.settings.memory_bytes == 2_500_000_000
    window.close()


def test_after_a_crash_in_the_middle_of_a_load_no_figure_is_made_up(
    qtbot: QtBot, workspace: FakeWorkspace, tmp_path: Path
) -> None:
    workspace.safe_start.suspicion = Suspicion("/m/a.qpack", True, None)
    window = MainWindow(workspace.real, Menus(lambda name: None), Typesetter(), tmp_path)
    assert "crashed" in banner(window, "safe start").accessibleName()
    assert list(buttons(window, "safe start")) == ["Load as Before"]
    workspace.safe_start.settled.emit()
    assert window.banners.banner("safe start") is None
    window.close()
