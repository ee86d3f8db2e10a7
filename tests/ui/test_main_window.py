"""A window: what it shows, its commands, its notices, its panels."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.blocks.typesetter import Typesetter
from app.conversation import Deletion, Failure, Folder, Library
from app.engine_state import EngineDeath, MemoryNote
from app.installed_models import DEMO
from app.settings import Overrides
from app.ui.commands.table import commands
from app.ui.main_window import MainWindow
from app.ui.menus import Menus
from tests.ui.fake_chat import answer, user
from tests.ui.fakes import MODEL, FakeWorkspace, WindowChat, conversation, loaded_state


@pytest.fixture
def workspace(qtbot: QtBot) -> FakeWorkspace:
    made = FakeWorkspace()
    made.settings.update(model=MODEL)
    made.library.library = Library(
        (Folder("f", "Work"),),
        (conversation("Ada"), conversation("Bob", 10), conversation("Cy", 20)),
    )
    return made


@pytest.fixture
def window(qtbot: QtBot, workspace: FakeWorkspace, tmp_path: Path) -> Iterator[MainWindow]:
    ran: list[str] = []
    menus = Menus(ran.append)
    made = MainWindow(workspace.real, menus, Typesetter(), tmp_path)
    made.show()
    made.show_first("Ada")
    yield made
    if isValid(made):
        made.close()


@pytest.fixture
def chat(window: MainWindow, workspace: FakeWorkspace) -> WindowChat:
    return workspace.chats[0]


def run(window: MainWindow, name: str) -> None:
    act = window.command(name)
    assert act is not None, name
    act()


def banner_text(window: MainWindow, key: str) -> str:
    banner = window.banners.banner(key)
    return banner.accessibleName() if banner is not None else ""


def press(window: MainWindow, key: str, text: str) -> None:
    banner = window.banners.banner(key)
    assert banner is not None
    next(b for b in banner.findChildren(QPushButton) if b.text() == text).click()


# Commands


def test_every_command_that_needs_a_window_is_carried_out_by_it(window: MainWindow) -> None:
    missing = [c.name for c in commands() if c.needs_window and window.command(c.name) is None]
    assert missing == []


def test_what_is_available_are_commands(window: MainWindow) -> None:
    names = {command.name for command in commands()}
    assert window.available() <= names
    assert window.checked() <= names


def test_answer_commands_follow_the_last_answer(window: MainWindow, chat: WindowChat) -> None:
    assert not {"regenerate", "continue_answer", "copy_answer"} & window.available()
    chat.show([user(1, "Hi"), answer(1, "Hello.", status="stopped")], "Ada")
    assert {"regenerate", "continue_answer", "copy_answer"} <= window.available()
    run(window, "regenerate")
    run(window, "continue_answer")
    assert chat.asked[-2:] == [("regenerate", "a1"), ("continue_", "a1")]


def test_stop_is_available_while_there_is_something_to_stop(
    window: MainWindow, chat: WindowChat
) -> None:
    assert "stop" not in window.available()
    chat.become(phase="answering", message_id="a1")
    assert "stop" in window.available()
    run(window, "stop")
    assert ("stop",) in chat.asked


def test_new_conversation_cannot_be_renamed_or_deleted_yet(
    window: MainWindow, chat: WindowChat
) -> None:
    assert {"rename_chat", "delete_chat", "toggle_pinned"} <= window.available()
    chat.open_new()
    assert not {"rename_chat", "delete_chat", "toggle_pinned"} & window.available()


def test_next_and_previous(window: MainWindow, chat: WindowChat) -> None:
    run(window, "next_chat")
    run(window, "next_chat")
    run(window, "previous_chat")
    opened = [ask[1] for ask in chat.asked if ask[0] == "open"]
    assert opened == ["Ada", "Bob", "Cy", "Bob"]


def test_command_digits_go_to_places(window: MainWindow, chat: WindowChat) -> None:
    run(window, "go_to_3")
    assert chat.asked[-1] == ("open", "Cy")
    run(window, "go_to_9")
    assert chat.asked[-1] == ("open", "Cy"), "there is no ninth"


def test_pin_shows_its_state(window: MainWindow, workspace: FakeWorkspace) -> None:
    run(window, "toggle_pinned")
    assert "toggle_pinned" in window.checked()
    run(window, "toggle_pinned")
    assert "toggle_pinned" not in window.checked()


def test_text_size_steps_and_stops_at_its_ends(
    window: MainWindow, workspace: FakeWorkspace
) -> None:
    run(window, "bigger_text")
    assert workspace.settings.settings.text_size == 110
    for _ in range(12):
        run(window, "bigger_text")
    assert workspace.settings.settings.text_size == 200
    assert "bigger_text" not in window.available()
    run(window, "usual_text")
    assert workspace.settings.settings.text_size == 100
    for _ in range(12):
        run(window, "smaller_text")
    assert workspace.settings.settings.text_size == 80
    assert "smaller_text" not in window.available()


def test_paste_goes_where_one_writes(window: MainWindow) -> None:
    window.sidebar.search.setFocus()
    QApplication.clipboard().setText("oven")
    run(window, "select_all")
    run(window, "paste")
    assert window.sidebar.search.text() == "oven"
    run(window, "undo")
    assert window.sidebar.search.text() == ""


def test_backspace_never_deletes_a_conversation(
    qtbot: QtBot, window: MainWindow, workspace: FakeWorkspace
) -> None:
    takers = [w for w in window.findChildren(QWidget) if w.focusPolicy() & Qt.FocusPolicy.TabFocus]
    assert window.sidebar.list in takers
    for widget in takers:
        qtbot.keyClick(widget, Qt.Key.Key_Backspace)
        qtbot.keyClick(widget, Qt.Key.Key_Delete)
    assert "delete" not in workspace.library.names()


def test_export_asks_for_a_file_named_after_the_title(
    window: MainWindow, workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def save_file(
        parent: object, title: str, name: str, kinds: str, chosen: Callable[[str], object]
    ) -> None:
        asked.append(name)
        chosen("/there/x.md")

    monkeypatch.setattr("app.ui.sheets.save_file", save_file)
    workspace.library.rename("Ada", "A/B: c?")
    run(window, "export_markdown")
    assert asked == ["A-B- c-.md"]
    assert workspace.library.calls[-1] == ("export", (["Ada"], Path("/there/x.md"), "markdown"))


# What it shows


def test_title_is_the_conversations(window: MainWindow, chat: WindowChat) -> None:
    assert window.windowTitle() == "Ada"
    chat.open_new()
    assert window.windowTitle() == "New Chat"


def test_start_page_until_something_is_said(window: MainWindow, chat: WindowChat) -> None:
    assert window.pane.start.isVisible()
    chat.show([user(1, "Hi")], "Ada")
    assert not window.pane.start.isVisible()
    assert window.pane.transcript.isVisible()


def test_prompt_of_the_start_page_is_sent(window: MainWindow, chat: WindowChat) -> None:
    window.pane.start._prompts[0].click()
    assert chat.asked[-1][0] == "send"


def test_demo_model_is_introduced(window: MainWindow, workspace: FakeWorkspace) -> None:
    workspace.settings.update(model=str(DEMO))
    assert "Martlet Mini is built in" in window.pane.start._line.text()


def test_without_a_model_the_page_says_what_to_do(
    window: MainWindow, workspace: FakeWorkspace
) -> None:
    workspace.settings.update(model="")
    assert window.pane.start._heading.text() == "Choose a model"
    assert not window.pane.start._prompts[0].isVisible()


def test_dot_where_a_conversation_differs(window: MainWindow, chat: WindowChat) -> None:
    assert not window.toolbar.settings._has_dot
    chat.set_overrides(Overrides(thinking=False))
    assert window.toolbar.settings._has_dot


def test_conversation_deleted_while_shown_makes_room_for_a_new_one(
    window: MainWindow, chat: WindowChat, workspace: FakeWorkspace
) -> None:
    run(window, "delete_chat")
    assert chat.asked[-1] == ("open_new",)
    assert "Deleted “Ada”." in banner_text(window, "undo")


def test_conversation_that_is_gone_at_the_start_is_no_dead_end(
    qtbot: QtBot, workspace: FakeWorkspace, tmp_path: Path
) -> None:
    window = MainWindow(workspace.real, Menus(lambda name: None), Typesetter(), tmp_path)
    window.show_first("gone")
    assert window.chat.conversation is not None
    window.close()


def test_search_hit_opens_and_reveals(window: MainWindow, chat: WindowChat) -> None:
    window.sidebar.chosen.emit("Bob", "m7")
    assert chat.asked[-2:] == [("open", "Bob"), ("reveal", "m7")]


def test_link_is_shown_where_it_leads(window: MainWindow) -> None:
    window.pane.link_hovered.emit("https://example.org/x")
    assert window.status._link.text() == "https://example.org/x"
    assert window.status._link.isVisible()
    window.pane.link_hovered.emit("")
    assert not window.status._link.isVisible()


def test_model_light_is_about_this_conversations_model(
    window: MainWindow, workspace: FakeWorkspace, chat: WindowChat
) -> None:
    workspace.engine.become(**{f: getattr(loaded_state(), f) for f in FACTS})
    assert window.toolbar.model.accessibleDescription() == "Ready"
    assert window.toolbar.model.accessibleName() == "Model: Qwen3.6 35B-A3B"
    chat.set_model("/models/other.qpack")
    assert window.toolbar.model.accessibleDescription() == "Loads at the first message"


FACTS = ("process", "model", "model_path", "facts", "plan", "stats")


# Notices


def test_engine_death_offers_restart_and_goes_when_it_runs_again(
    window: MainWindow, workspace: FakeWorkspace
) -> None:
    death = EngineDeath("The engine stopped.", "What was written is kept.", 1, False, "")
    workspace.engine.become(death=death)
    workspace.engine.become(process="starting")
    assert banner_text(window, "engine") == "The engine stopped. What was written is kept."
    press(window, "engine", "Restart")
    assert workspace.engine.names() == ["restart"]
    workspace.engine.become(death=None)
    assert window.banners.banner("engine") is None


def test_closed_death_banner_does_not_come_back(
    window: MainWindow, workspace: FakeWorkspace
) -> None:
    workspace.engine.become(death=EngineDeath("It stopped.", "", 1, False, ""))
    window.banners.hide_banner("engine")
    workspace.engine.become(process="starting")
    assert window.banners.banner("engine") is None
    workspace.engine.become(death=EngineDeath("It stopped.", "", 2, False, ""))
    assert window.banners.banner("engine") is not None


def test_load_failure_offers_another_model(window: MainWindow, workspace: FakeWorkspace) -> None:
    failure = Failure("NotEnoughMemory", "It needs 6 GB.", "Choose a smaller model.")
    workspace.engine.become(load_failure=failure)
    assert banner_text(window, "load") == "It needs 6 GB. Choose a smaller model."


def test_memory_note_is_shown(window: MainWindow, workspace: FakeWorkspace) -> None:
    plan = loaded_state().plan
    assert plan is not None
    workspace.engine.memory_changed.emit(MemoryNote("warning", "Memory is short.", plan))
    assert banner_text(window, "memory") == "Memory is short."


def test_undo_takes_back(window: MainWindow, workspace: FakeWorkspace) -> None:
    workspace.library.delete(["Bob"])
    press(window, "undo", "Undo")
    assert [c.id for c in workspace.library.library.conversations] == ["Ada", "Bob", "Cy"]


def test_deleted_message_has_undo_too(window: MainWindow, chat: WindowChat) -> None:
    chat.deleted.emit(Deletion("d9", "message", 3, ""))
    press(window, "undo", "Undo")
    assert chat.asked[-1] == ("undo_delete", "d9")


def test_failures_are_told(window: MainWindow, chat: WindowChat) -> None:
    chat.failed.emit(Failure("", "It failed.", "Try again."))
    assert banner_text(window, "failure") == "It failed. Try again."


# Panels and dropping


def test_panels_slide_and_are_checked(qtbot: QtBot, window: MainWindow) -> None:
    assert window.checked() == {"toggle_sidebar"}
    run(window, "toggle_inspector")
    qtbot.waitUntil(lambda: "toggle_inspector" in window.checked())
    run(window, "toggle_sidebar")
    qtbot.waitUntil(lambda: not window.panels.sidebar_shown)
    assert window.checked() == {"toggle_inspector"}
    width = window.panels.sidebar_width
    window.panels.show_sidebar(True, at_once=True)
    assert window.sidebar.width() == pytest.approx(width, abs=2)


def test_a_slide_can_be_turned_round_in_the_middle(qtbot: QtBot, window: MainWindow) -> None:
    width = window.sidebar.width()
    run(window, "toggle_sidebar")
    qtbot.waitUntil(lambda: window.sidebar.width() < width)
    run(window, "toggle_sidebar")
    qtbot.waitUntil(lambda: window.sidebar.width() == width)
    assert window.panels.sidebar_shown
    assert window.sidebar.isVisible()


def test_reduced_motion_moves_at_once(window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.ui.motion.is_reduced", lambda: True)
    run(window, "toggle_sidebar")
    assert not window.panels.sidebar_shown


def test_dropped_files_are_attached(window: MainWindow, chat: WindowChat, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("x")
    drop(window, file)
    assert chat.asked[-1] == ("attach", (file,))


def test_dropped_model_is_used(
    window: MainWindow, chat: WindowChat, workspace: FakeWorkspace, tmp_path: Path
) -> None:
    model = tmp_path / "new.qpack"
    model.mkdir()
    (model / "manifest.json").write_text("{}")
    drop(window, model)
    assert chat.asked[-1] == ("set_model", str(model))
    assert workspace.settings.settings.model == str(model)
    assert str(model) in workspace.settings.settings.model_folders


def drop(window: MainWindow, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    window.dropEvent(
        QDropEvent(
            QPointF(QPoint(5, 5)),
            Qt.DropAction.CopyAction,
            data,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
    )


def test_closing_releases_the_chat(qtbot: QtBot, window: MainWindow, chat: WindowChat) -> None:
    with qtbot.waitSignal(window.closing):
        window.close()
    assert chat.asked[-1] == ("close",)
