"""Find in a conversation: from place to place, latest first, round at the ends."""

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.ui.find_bar import FindBar
from tests.ui.fake_chat import FakeChat, answer, user


@pytest.fixture
def chat(qtbot: QtBot) -> FakeChat:
    made = FakeChat()
    made.show(
        [user(1, "A PRIME?"), answer(1, "Two."), user(2, "prime or prime"), answer(2, "prime pair")]
    )
    return made


@pytest.fixture
def bar(qtbot: QtBot, chat: FakeChat) -> FindBar:
    made = FindBar(chat)
    qtbot.addWidget(made)
    made.open_bar()
    return made


def found(bar: FindBar) -> list[tuple[str, int]]:
    places: list[tuple[str, int]] = []
    bar.found.connect(lambda message_id, number: places.append((message_id, number)))
    return places


def test_typing_goes_to_the_latest_and_counts(qtbot: QtBot, bar: FindBar) -> None:
    ids = found(bar)
    bar.field.setText("prime")
    assert ids == [("a2", 0)]
    assert bar._count.text() == "4 of 4"


def test_return_goes_on_and_shift_return_back(qtbot: QtBot, bar: FindBar) -> None:
    bar.field.setText("Prime")
    ids = found(bar)
    qtbot.keyClick(bar.field, Qt.Key.Key_Return)
    qtbot.keyClick(bar.field, Qt.Key.Key_Return)
    qtbot.keyClick(bar.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert ids == [("u1", 0), ("u2", 0), ("u1", 0)]
    for _ in range(2):
        qtbot.keyClick(bar.field, Qt.Key.Key_Return)
    assert ids[3:] == [("u2", 0), ("u2", 1)]
    assert bar._count.text() == "3 of 4"


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
    assert bar._count.text() == "1 of 2"


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
    assert bar._count.text() == "1 of 1"


def test_words_are_marked_while_the_bar_is_open(bar: FindBar) -> None:
    marked: list[str] = []
    bar.words_changed.connect(marked.append)
    bar.field.setText("pair")
    bar.close_bar()
    bar.open_bar()
    assert marked == ["pair", "", "pair"]


def test_what_markdown_hides_is_not_counted(bar: FindBar, chat: FakeChat) -> None:
    chat.branch(4, [answer(3, "[here](https://example.org/pair)\n\n```pair\nx\n```")])
    bar.field.setText("pair")
    assert bar._count.text() == "1 of 1"
