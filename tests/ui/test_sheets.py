"""Sheets: conversation settings, Recently Deleted, the crash report, questions."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDoubleSpinBox, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.conversation import Failure, Library
from app.crash import CrashReport
from app.settings import Overrides, Preset, Sampling, Settings
from app.ui import sheets
from app.ui.chat_settings import ConversationSettings
from app.ui.crash_sheet import CrashSheet
from app.ui.deleted_sheet import DeletedSheet
from tests.ui.fakes import FakeLibrary, WindowChat, conversation

SETTINGS = Settings(system_prompt="Be kind.", presets=(Preset("Brief", "Be brief."),))


@pytest.fixture
def chat(qtbot: QtBot) -> WindowChat:
    library = FakeLibrary()
    library.library = Library((), (conversation("Ada"),))
    made = WindowChat(library)
    made.open("Ada")
    return made


@pytest.fixture
def own(qtbot: QtBot, chat: WindowChat) -> ConversationSettings:
    sheet = ConversationSettings(chat, SETTINGS)  # type: ignore[arg-type]
    sheet.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(sheet)
    return sheet


def overrides(chat: WindowChat) -> Overrides:
    assert chat.conversation is not None
    return chat.conversation.overrides


def test_it_shows_what_is_in_force_and_changes_nothing_by_itself(
    own: ConversationSettings, chat: WindowChat
) -> None:
    assert own._prompt.toPlainText() == "Be kind."
    assert not own._prompt.isEnabled()
    assert own._summary.text() == "Nothing differs from Settings."
    assert "set_overrides" not in chat.names()


def test_own_prompt_starts_from_the_settings(own: ConversationSettings, chat: WindowChat) -> None:
    own._own_prompt.click()
    assert overrides(chat).system_prompt == "Be kind."
    own._prompt.setPlainText("Rhyme.")
    assert overrides(chat).system_prompt == "Rhyme."
    own._own_prompt.click()
    assert overrides(chat).system_prompt is None
    assert own._prompt.toPlainText() == "Be kind."


def test_numbers_thinking_preset_and_reset(own: ConversationSettings, chat: WindowChat) -> None:
    own.findChildren(QDoubleSpinBox)[0].setValue(0.5)
    own._thinking.setCurrentIndex(2)
    own._thinking.activated.emit(2)
    assert overrides(chat) == Overrides(sampling=Sampling(temperature=0.5), thinking=False)
    assert own._summary.text().startswith("2 ")
    own._presets.activated.emit(0)
    assert overrides(chat).system_prompt == "Be brief."
    own._reset()
    assert overrides(chat) == Overrides()


def test_it_is_a_sheet_of_its_window(own: ConversationSettings) -> None:
    assert own.windowModality() == Qt.WindowModality.WindowModal


@pytest.fixture
def library() -> FakeLibrary:
    return FakeLibrary()


@pytest.fixture
def deleted(qtbot: QtBot, library: FakeLibrary) -> DeletedSheet:
    sheet = DeletedSheet(library)  # type: ignore[arg-type]
    sheet.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(sheet)
    sheet.show()
    library.deleted_listed.emit((conversation("Ada"), conversation("Bob")))
    return sheet


def test_deleted_conversations_come_back(
    qtbot: QtBot, deleted: DeletedSheet, library: FakeLibrary
) -> None:
    assert not deleted._restore.isEnabled()
    qtbot.mouseClick(deleted._list.row_widgets()[1], Qt.MouseButton.LeftButton)
    deleted._restore.click()
    assert ("restore", (("Bob",),)) in library.calls


def test_erasing_is_asked_first_and_cancel_is_the_default(
    qtbot: QtBot, deleted: DeletedSheet, library: FakeLibrary
) -> None:
    qtbot.mouseClick(deleted._list.row_widgets()[0], Qt.MouseButton.LeftButton)
    deleted._erase.click()
    question = deleted.findChild(QMessageBox)
    assert question.defaultButton().text().replace("&", "") == "Cancel"
    question.defaultButton().click()
    assert "erase" not in library.names()
    deleted._erase.click()
    question = deleted.findChildren(QMessageBox)[-1]
    next(b for b in question.buttons() if b.text() == "Erase").click()
    assert ("erase", (("Ada",),)) in library.calls


def test_list_is_read_again_after_a_change(deleted: DeletedSheet, library: FakeLibrary) -> None:
    asked = library.names().count("list_deleted")
    library.changed.emit(Library())
    assert library.names().count("list_deleted") == asked + 1


def test_crash_report_can_be_copied_and_grows(qtbot: QtBot) -> None:
    sheet = CrashSheet(CrashReport("KeyError: 3", "Martlet\nKeyError: 3\n"))
    sheet.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(sheet)
    sheet.add(CrashReport("OSError", "Martlet\nOSError\n"))
    next(b for b in sheet.findChildren(QPushButton) if b.text() == "Copy Report").click()
    copied = QGuiApplication.clipboard().text()
    assert "KeyError: 3" in copied
    assert "OSError" in copied


def test_failure_is_told_with_its_remedy_and_never_as_html(qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    sheet = sheets.tell(parent, Failure("", "<b>odd</b> name.", "Choose another."))
    assert sheet.text() == "<b>odd</b> name."
    assert sheet.textFormat() == Qt.TextFormat.PlainText
    assert sheet.informativeText() == "Choose another."
    assert sheet.windowModality() == Qt.WindowModality.WindowModal
    sheet.close()
