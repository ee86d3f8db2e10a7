"""Find in a conversation: from message to message, latest first, round at the ends."""

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.ui.find_bar import FindBar
from tests.ui.fake_chat import FakeChat, answer, user


@pytest.fixture
def chat(qtbot: QtBot) -> FakeChat:
    made = FakeChat()
    made.show(
        [user(1, "A PRIME?"), answer(1, "Two."), user(2, "prime again"), answer(2, "prime pair")]
    )
    return made


@pytest.fixture
def bar(qtbot: QtBot, chat: FakeChat) -> FindBar:
    made = FindBar(chat)
    qtbot.addWidget(made)
    made.open_bar()
    return made


def found(bar: FindBar) -> list[str]:
    ids: list[str] = []
    bar.found.connect(ids.append)
    return ids


def test_typing_goes_to_the_latest_and_counts(qtbot: QtBot, bar: FindBar) -> None:
    ids = found(bar)
    bar.field.setText("prime")
    assert ids == ["a2"]
    assert bar._count.text() == "message 3 of 3"


def test_return_goes_on_and_shift_return_back(qtbot: QtBot, bar: FindBar) -> None:
    bar.field.setText("Prime")
    ids = found(bar)
    qtbot.keyClick(bar.field, Qt.Key.Key_Return)
    qtbot.keyClick(bar.field, Qt.Key.Key_Return)
    qtbot.keyClick(bar.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert ids == ["u1", "u2", "u1"]


def test_nothing_found_says_so(bar: FindBar) -> None:
    ids = found(bar)
    bar.field.setText("composite")
    assert ids == []
    assert bar._count.text() == "Not found"
    assert not bar._next.isEnabled()
    bar.field.clear()
    assert bar._count.text() == ""


def test_count_follows_the_conversation(bar: FindBar, chat: FakeChat) -> None:
    bar.field.setText("pair")
    chat.branch(4, [user(3, "a pair?")])
    assert bar._count.text() == "message 1 of 2"


def test_escape_closes_and_frees_the_keyboard(qtbot: QtBot, bar: FindBar) -> None:
    with qtbot.waitSignal(bar.closed):
        qtbot.keyClick(bar.field, Qt.Key.Key_Escape)
    assert bar.isHidden()


def test_another_conversation_closes_it(bar: FindBar, chat: FakeChat) -> None:
    chat.show([])
    assert bar.isHidden()


def test_selection_is_looked_for(bar: FindBar) -> None:
    bar.close_bar()
    bar.open_bar("pair")
    assert bar.field.text() == "pair"
    assert bar._count.text() == "message 1 of 1"
