"""Selecting: text through all pieces of a turn, or whole turns; and what is copied of it."""

from collections.abc import Callable

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.ui.transcript import TranscriptView
from app.ui.transcript.text import Text
from tests.ui.fake_chat import FakeChat, answer, user

ANSWER = "First paragraph.\n\n```py\nx = 1\ny = 2\n```\n\nLast *paragraph*."


def show(chat: FakeChat, settle: Callable[[], None]) -> None:
    chat.show([user(1, "Question one"), answer(1, ANSWER), user(2, "Two"), answer(2, "Short.")])
    settle()


def text_of(view: TranscriptView, message_id: str, piece: int) -> Text:
    turn = view._column.view(message_id)
    assert turn is not None
    shown = turn.view(piece)
    assert shown is not None
    assert shown.text is not None
    return shown.text


def point(text: QWidget, view: TranscriptView, x: int, y: int = 8) -> QPoint:
    return text.mapTo(view.viewport(), QPoint(x, y))


def drag(qtbot: QtBot, view: TranscriptView, start: QPoint, *through: QPoint) -> None:
    """Press at the first point, move through the others, and let go at the last one."""
    qtbot.mousePress(view.viewport(), Qt.MouseButton.LeftButton, pos=start)
    for there in through:
        qtbot.mouseMove(view.viewport(), there)
        _move(view, there)
    qtbot.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=through[-1])


def _move(view: TranscriptView, there: QPoint) -> None:
    view._pointer._move(there)  # a simulated mouse does not report moves while it is pressed


def copied(view: TranscriptView) -> str:
    view.copy()
    return QGuiApplication.clipboard().text()


def test_a_drag_selects_text(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    show(chat, settle)
    text = text_of(view, "a1", 0)
    drag(qtbot, view, point(text, view, 0), point(text, view, 200))
    assert copied(view) == "First paragraph."
    mime = QGuiApplication.clipboard().mimeData()
    assert "First paragraph." in mime.html()


def test_a_drag_goes_through_all_pieces_of_a_turn(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    show(chat, settle)
    first, last = text_of(view, "a1", 0), text_of(view, "a1", 2)
    drag(qtbot, view, point(first, view, 0), point(last, view, 500))
    assert copied(view) == "First paragraph.\n\nx = 1\ny = 2\n\nLast paragraph."
    assert text_of(view, "a1", 1).selection == (0, len("x = 1\ny = 2"))


def test_a_drag_upwards_is_the_same(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    show(chat, settle)
    first, last = text_of(view, "a1", 0), text_of(view, "a1", 2)
    drag(qtbot, view, point(last, view, 500), point(first, view, 0))
    assert copied(view) == "First paragraph.\n\nx = 1\ny = 2\n\nLast paragraph."


def test_a_drag_into_another_turn_selects_whole_messages(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    show(chat, settle)
    question, reply = text_of(view, "u1", 0), text_of(view, "a1", 2)
    drag(qtbot, view, point(question, view, 2), point(reply, view, 3))
    expected = f"**You:**\n\nQuestion one\n\n**Assistant:**\n\n{ANSWER}"
    assert copied(view) == expected
    view.copy_plain()
    plain = QGuiApplication.clipboard().text()
    assert plain.startswith("You:\n\nQuestion one\n\nAssistant:\n\nFirst paragraph.")
    assert "*" not in plain


def test_two_clicks_take_a_word_and_three_a_paragraph(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    show(chat, settle)
    text = text_of(view, "a1", 0)
    where = point(text, view, 10)
    for expected in ("", "First", "First paragraph."):
        qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=where)
        selected = [excerpt.plain for excerpt in view._selector.excerpts()]
        assert "".join(selected) == expected


def test_shift_extends(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    show(chat, settle)
    first, last = text_of(view, "a1", 0), text_of(view, "a1", 2)
    viewport, left = view.viewport(), Qt.MouseButton.LeftButton
    qtbot.mouseClick(viewport, left, pos=point(first, view, 0))
    shift = Qt.KeyboardModifier.ShiftModifier
    qtbot.mouseClick(viewport, left, shift, pos=point(last, view, 500))
    assert copied(view).endswith("Last paragraph.")


def test_a_selection_lets_go_of_the_end(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Go"), answer(1, "Some words. " * 300, status="streaming", stats=None)])
    settle()
    bar = view.verticalScrollBar()
    value = bar.value()
    text = next(p.text for _, p in view._column.view("a1").views() if p.text)  # type: ignore[union-attr]
    middle = view.viewport().rect().center()
    drag(qtbot, view, middle, middle + QPoint(60, 0))
    assert text.page is not None
    chat.grow("a1", "More words. " * 300)
    settle()
    assert bar.value() == value
    assert view.has_selection


def test_a_selection_survives_that_its_widgets_go_and_come_back(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    many = [m for n in range(3, 60) for m in (user(n, "Q"), answer(n, "Words. " * 200))]
    chat.show([user(1, "Question one"), answer(1, ANSWER), *many])
    settle()
    view.verticalScrollBar().setValue(0)
    settle()
    text = text_of(view, "a1", 0)
    drag(qtbot, view, point(text, view, 0), point(text, view, 200))
    selection = text.selection
    view.scroll_to_end()
    settle()
    assert view._column.view("a1") is None
    view.verticalScrollBar().setValue(0)
    settle()
    assert text_of(view, "a1", 0).selection == selection


def test_words_that_still_arrive_do_not_take_the_selection_away(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Go"), answer(1, "One two", status="streaming", stats=None)])
    settle()
    text = text_of(view, "a1", 0)
    drag(qtbot, view, point(text, view, 0), point(text, view, 300))
    chat.grow("a1", " three four")
    settle()
    assert text_of(view, "a1", 0).selection == (0, len("One two"))


def test_select_all_copies_the_conversation(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    show(chat, settle)
    view.select_all()
    assert copied(view).count("**You:**") == 2
    assert copied(view).endswith("Short.")


def test_keys_select_and_copy_messages(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    show(chat, settle)
    alt, shift = Qt.KeyboardModifier.AltModifier, Qt.KeyboardModifier.ShiftModifier
    view.activateWindow()
    view.setFocus()
    qtbot.keyClick(view, Qt.Key.Key_Down, alt)
    first = view._focused_turn()
    assert first is not None
    assert first.turn.message.id == "u1"
    qtbot.keySequence(view, QKeySequence.StandardKey.Copy)
    assert QGuiApplication.clipboard().text() == "Question one"
    qtbot.keyClick(first, Qt.Key.Key_Down, alt | shift)
    assert [message.id for message in view._selector.messages()] == ["u1", "a1"]
    qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert not view.has_selection


def test_a_click_selects_nothing_any_more(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    show(chat, settle)
    view.select_all()
    where = point(text_of(view, "a1", 0), view, 5)
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert not view.has_selection


def test_a_drag_beyond_the_edge_scrolls(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Go"), answer(1, "\n\n".join(f"Paragraph {n}." for n in range(200)))])
    settle()
    bar = view.verticalScrollBar()
    bar.setValue(1000)
    settle()
    middle = view.viewport().rect().center()
    qtbot.mousePress(view.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    outside = QPoint(middle.x(), -60)
    _move(view, outside)
    qtbot.waitUntil(lambda: bar.value() < 900, timeout=20_000)
    qtbot.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=outside)
    assert not view._pointer._scrolling.isActive()
    assert len(copied(view).split("\n")) > 10
