"""The application: windows and their return, commands without a window, appearance, faults."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QSettings, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QMessageBox
from pytestqt.qtbot import QtBot

from app import paths
from app.conversation import Failure, Library
from app.safe_start import Suspicion
from app.ui import theme
from app.ui.application import Application
from app.ui.crash_sheet import CrashSheet
from tests.ui.fakes import MODEL, FakeWorkspace, conversation


@pytest.fixture
def workspace(qtbot: QtBot) -> FakeWorkspace:
    made = FakeWorkspace()
    made.library.library = Library((), (conversation("Ada"), conversation("Bob", 10)))
    return made


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path


def started(workspace: FakeWorkspace, data: Path) -> Application:
    application = Application(workspace.real, data)
    application.start()
    return application


def end(application: Application) -> None:
    application.close()
    application.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def application(workspace: FakeWorkspace, data: Path) -> Iterator[Application]:
    made = started(workspace, data)
    yield made
    end(made)


def test_first_start_shows_one_window_on_an_empty_conversation(
    application: Application, workspace: FakeWorkspace
) -> None:
    (window,) = application.windows
    assert window.isVisible()
    assert workspace.chats[0].asked == [("open_new",)]


def test_windows_return_where_they_were(workspace: FakeWorkspace, data: Path) -> None:
    before = started(workspace, data)
    window = before.windows[0]
    window.resize(701, 511)
    window.panels.show_sidebar(False, at_once=True)
    QApplication.processEvents()  # the layout learns that there is room
    window.panels.show_inspector(True, at_once=True)
    window.chat.open("Bob")
    before.new_window("Ada")
    end(before)

    after = started(workspace, data)
    shown = {w.windowTitle(): w for w in after.windows}
    assert set(shown) == {"Ada", "Bob"}
    window = shown["Bob"]
    assert (window.width(), window.height()) == (701, 511)
    assert (window.panels.sidebar_shown, window.panels.inspector_shown) == (False, True)
    assert (shown["Ada"].panels.sidebar_shown, shown["Ada"].panels.inspector_shown) == (True, False)
    end(after)


@pytest.mark.parametrize("junk", ["windows/count=many", "windows/0/geometry=junk", "\0\xff[["])
def test_state_that_makes_no_sense_is_borne(
    workspace: FakeWorkspace, data: Path, junk: str
) -> None:
    paths.window_file(data).write_bytes(f"[General]\n{junk}\n".encode("latin-1"))
    application = started(workspace, data)
    assert len(application.windows) == 1
    end(application)


def test_closing_the_last_window_keeps_the_application(
    application: Application, workspace: FakeWorkspace
) -> None:
    application.windows[0].close()
    assert application.windows == ()
    application.run("new_chat")
    assert len(application.windows) == 1


def test_second_start_raises_the_first_and_brings_files(
    application: Application, workspace: FakeWorkspace, tmp_path: Path
) -> None:
    file = tmp_path / "a.txt"
    application.windows[0].showMinimized()
    application.summon([str(file)])
    assert not application.windows[0].isMinimized()
    assert workspace.chats[0].asked[-1] == ("attach", (file,))


def test_summon_makes_a_window_where_there_is_none(application: Application) -> None:
    application.windows[0].close()
    application.summon()
    assert len(application.windows) == 1


def test_settings_alone_do_not_keep_the_application(
    application: Application,
) -> None:
    application.run("show_settings")
    application.windows[0].close()
    assert application._settings_window is not None
    assert not application._settings_window.isVisible()


def test_two_windows_share_the_library(application: Application, workspace: FakeWorkspace) -> None:
    application.run("new_window")
    workspace.library.rename("Ada", "Countess")
    for window in application.windows:
        assert "Countess" in [row.title for row in window.sidebar.list.rows()]


def test_closed_window_hears_nothing_any_more(
    application: Application, workspace: FakeWorkspace
) -> None:
    application.run("new_window")
    application.windows[0].close()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    workspace.library.delete(["Bob"])
    workspace.engine.become(process="starting")
    workspace.settings.update(text_size=150)
    workspace.library.undo_delete("d0")
    assert len(application.windows) == 1


def test_window_that_a_person_closed_stays_closed(
    qtbot: QtBot, workspace: FakeWorkspace, data: Path
) -> None:
    before = started(workspace, data)
    before.new_window("Ada")
    before.windows[0].close()
    qtbot.waitUntil(lambda: not before._closing.isActive())
    end(before)
    after = started(workspace, data)
    assert [w.windowTitle() for w in after.windows] == ["New Chat"]
    end(after)


def test_menu_follows_the_front_window(
    qtbot: QtBot, application: Application, workspace: FakeWorkspace
) -> None:
    rename = application.menus.actions["rename_chat"]
    qtbot.waitUntil(lambda: not rename.isEnabled())
    application.windows[0].chat.open("Ada")
    qtbot.waitUntil(rename.isEnabled)
    application.windows[0].close()
    qtbot.waitUntil(lambda: not rename.isEnabled())
    assert application.menus.actions["new_chat"].isEnabled()


def test_window_menu_lists_windows(application: Application) -> None:
    application.new_window("Ada")
    application._fill_window_menu()
    texts = [action.text() for action in application.menus.menus["window"].actions()]
    assert texts[-2:] == ["Ada", "New Chat"]


def test_settings_is_one_window_and_closes_with_the_key(application: Application) -> None:
    application.run("show_settings")
    first = application._settings_window
    application.run("show_settings")
    assert application._settings_window is first
    assert first is not None
    assert first.isVisible()
    application.close()
    assert not first.isVisible()


def test_about_names_the_version(application: Application) -> None:
    application.run("show_about")
    sheet = application.windows[0].findChild(QMessageBox)
    assert "Martlet" in sheet.text()
    sheet.close()


@pytest.mark.parametrize(("appearance", "dark"), [("dark", True), ("light", False)])
def test_appearance_changes_at_once(
    qtbot: QtBot, application: Application, workspace: FakeWorkspace, appearance: str, dark: bool
) -> None:
    before = QGuiApplication.palette()
    workspace.settings.update(appearance=appearance)
    window = application.windows[0]
    try:
        assert theme.is_dark() is dark
        base = theme.color(theme.Role.BASE)
        qtbot.waitUntil(lambda: window.palette().window().color() == base)
    finally:
        QGuiApplication.setPalette(before)


def test_no_model_is_loaded_unasked(
    qtbot: QtBot, application: Application, workspace: FakeWorkspace
) -> None:
    qtbot.wait(1)
    assert workspace.engine.calls == []


def test_model_is_loaded_at_the_start_where_it_is_wanted(
    qtbot: QtBot, workspace: FakeWorkspace, data: Path
) -> None:
    workspace.settings.update(load_at_start=True, model=MODEL, memory_bytes=7)
    application = started(workspace, data)
    qtbot.waitUntil(lambda: workspace.engine.calls == [("load", (MODEL, 7))])
    end(application)


def test_model_is_not_loaded_after_the_computer_went_down(
    qtbot: QtBot, workspace: FakeWorkspace, data: Path
) -> None:
    workspace.settings.update(load_at_start=True, model=MODEL)
    workspace.safe_start.suspicion = Suspicion(MODEL, True, 2_000_000_000)
    application = started(workspace, data)
    qtbot.wait(1)
    assert workspace.engine.calls == []
    assert application.windows[0].banners.banner("safe start") is not None
    end(application)


def test_fault_shows_one_sheet_and_further_ones_join_it(
    qtbot: QtBot, application: Application
) -> None:
    thread = threading.Thread(target=application.fault.emit, args=("Traceback\nKeyError: 3",))
    thread.start()
    thread.join()
    application.fault.emit("Traceback\nOSError: 5")
    qtbot.waitUntil(lambda: "OSError: 5" in _report(application))
    assert "KeyError: 3" in _report(application)
    assert len(application.windows[0].findChildren(CrashSheet)) == 1
    application.windows[0].close()
    qtbot.waitUntil(lambda: application._crash_sheet is None)


def _report(application: Application) -> str:
    sheet = application.windows[0].findChild(CrashSheet)
    return sheet.report if sheet is not None else ""


def test_failures_of_the_store_are_told(application: Application, workspace: FakeWorkspace) -> None:
    workspace.store.failed.emit(Failure("", "The file is damaged.", "A copy was kept."))
    banner = application.windows[0].banners.banner("failure")
    assert banner is not None
    assert banner.accessibleName() == "The file is damaged. A copy was kept."


def test_unreadable_settings_are_told_at_the_start(workspace: FakeWorkspace, data: Path) -> None:
    workspace.settings.notice = Failure("", "Your settings could not be read.")
    application = started(workspace, data)
    assert application.windows[0].banners.banner("failure") is not None
    end(application)


@pytest.fixture
def badge(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    shown: list[int] = []
    monkeypatch.setattr(QApplication, "setBadgeNumber", lambda self, number: shown.append(number))
    hidden = Qt.ApplicationState.ApplicationHidden
    monkeypatch.setattr(QGuiApplication, "applicationState", lambda: hidden)
    return shown


def test_answers_that_end_in_the_background_are_counted_until_seen(
    application: Application, workspace: FakeWorkspace, badge: list[int]
) -> None:
    workspace.library.active_changed.emit(frozenset({"Ada", "Bob"}))
    workspace.library.active_changed.emit(frozenset({"Bob"}))
    workspace.library.active_changed.emit(frozenset())
    application._attention._on_state(Qt.ApplicationState.ApplicationActive)
    assert badge == [1, 2, 0]


def test_background_answers_are_quiet_where_that_is_wanted(
    application: Application, workspace: FakeWorkspace, badge: list[int]
) -> None:
    workspace.settings.update(notify_when_done=False)
    workspace.library.active_changed.emit(frozenset({"Ada"}))
    workspace.library.active_changed.emit(frozenset())
    assert badge == []


def test_state_is_kept_in_the_data_folder(application: Application, data: Path) -> None:
    application.save_state()
    state = QSettings(str(paths.window_file(data)), QSettings.Format.IniFormat)
    assert state.value("windows/0/geometry") is not None


def test_quitting_says_that_downloads_will_resume(
    application: Application, workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[bool] = []
    monkeypatch.setattr(QApplication, "quit", lambda: ended.append(True))
    workspace.downloads.at_work = 2
    application.run("quit")
    (sheet,) = application.windows[0].findChildren(QMessageBox)
    assert "will resume next time" in sheet.text()
    assert ended == []
    next(button for button in sheet.buttons() if button.text() == "Quit").click()
    assert ended == [True]


def test_the_models_window_opens_from_the_start_page(
    application: Application, workspace: FakeWorkspace
) -> None:
    (window,) = application.windows
    window.pane.start.models_wanted.emit()
    models = application._models_window
    assert models is not None
    assert models.isVisible()
    models.chosen.emit(MODEL)
    assert workspace.settings.settings.model == MODEL


def test_diagnostics_open_from_the_help_menu(application: Application) -> None:
    application.menus.actions["show_diagnostics"].trigger()
    assert application._diagnostics is not None
    assert application._diagnostics.isVisible()


def test_a_download_that_ends_behind_is_counted(
    application: Application, workspace: FakeWorkspace, badge: list[int]
) -> None:
    workspace.downloads.installed.emit("/models/Tiny.qpack")
    assert badge == [1]
