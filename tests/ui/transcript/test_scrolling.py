"""Scrolling: what is read stands still, the end is followed while it is in sight."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QScrollBar
from pytestqt.qtbot import QtBot

from app.conversation import Message
from app.ui.transcript import TranscriptView
from app.ui.transcript.turn_view import TurnView
from tests.ui.fake_chat import FakeChat, answer, user

PARAGRAPHS = "\n\n".join(f"Paragraph {n}: " + "words " * (n % 7 * 20 + 5) for n in range(30))


def conversation(turns: int) -> list[Message]:
    return [
        message
        for n in range(turns)
        for message in (user(n, f"Question {n}"), answer(n, PARAGRAPHS))
    ]


def streaming(chat: FakeChat, before: int = 3) -> None:
    chat.show([*conversation(before), user(90, "Go on"), answer(90, "", status="streaming")])


def at_end(bar: QScrollBar) -> bool:
    return bar.value() == bar.maximum() > 0


def wheel(view: TranscriptView, pixels: int) -> None:
    """Turn the wheel over the middle of the view; positive is upwards."""
    middle = QPointF(view.viewport().rect().center())
    event = QWheelEvent(
        middle,
        view.viewport().mapToGlobal(middle),
        QPoint(0, pixels),
        QPoint(0, pixels * 3),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    below = view.viewport().childAt(middle.toPoint()) or view.viewport()
    event.ignore()
    while not event.isAccepted() and below is not view:
        QApplication.sendEvent(below, event)  # one that was made up goes no further by itself
        below = below.parentWidget()


def place_of(view: TranscriptView, message_id: str, piece: int) -> int:
    """Where on the screen a piece begins."""
    turn = view._column.view(message_id)
    assert turn is not None
    shown = turn.view(piece)
    assert shown is not None
    return shown.mapTo(view.viewport(), QPoint(0, 0)).y()


def middle_piece(view: TranscriptView) -> tuple[str, int]:
    """A piece in the middle of the screen."""
    middle = view.viewport().rect().center()
    above = [
        (shown.mapTo(view.viewport(), QPoint(0, 0)).y(), turn.turn.message.id, piece)
        for turn in view._column.views()
        for piece, shown in turn.views()
    ]
    _, message_id, piece = max(place for place in above if place[0] <= middle.y())
    return message_id, piece


def test_a_conversation_opens_at_its_end(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show(conversation(20))
    settle()
    assert at_end(view.verticalScrollBar())


def test_only_what_is_near_the_screen_is_a_widget(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show(conversation(1000))
    settle()
    assert len(view.findChildren(TurnView)) < 12
    assert view.verticalScrollBar().maximum() > 500_000


def test_the_end_is_followed_while_it_grows(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    streaming(chat)
    for _ in range(40):
        chat.grow("a90", "Another sentence of the answer. " * 5 + "\n\n")
        view._feed._flow.flush()
        assert at_end(view.verticalScrollBar())
    settle()
    assert at_end(view.verticalScrollBar())


@pytest.mark.parametrize("release", ["wheel", "page up", "bar"])
def test_a_scroll_upwards_lets_go_and_nothing_moves(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None], release: str
) -> None:
    streaming(chat)
    chat.grow("a90", PARAGRAPHS)
    settle()
    bar = view.verticalScrollBar()
    if release == "wheel":
        wheel(view, 40)
    elif release == "page up":
        qtbot.keyClick(view, Qt.Key.Key_PageUp)
    else:
        bar.setValue(bar.maximum() // 2)
    settle()
    value = bar.value()
    assert value < bar.maximum()
    message_id, piece = middle_piece(view)
    place = place_of(view, message_id, piece)
    for _ in range(100):
        chat.grow("a90", "More and more. " * 20 + "\n\n")
        view._feed._flow.flush()
        assert bar.value() == value
    settle()
    assert bar.value() == value
    assert place_of(view, message_id, piece) == place
    qtbot.keyClick(view, Qt.Key.Key_End)
    chat.grow("a90", "The end. " * 50)
    settle()
    assert at_end(bar)


def test_a_small_turn_of_the_wheel_is_not_undone(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    streaming(chat)
    chat.grow("a90", PARAGRAPHS)
    settle()
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() - 3)
    chat.grow("a90", "More. " * 200)
    settle()
    assert bar.maximum() - bar.value() > 20


def test_scrolling_down_to_the_end_follows_again(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    streaming(chat)
    chat.grow("a90", PARAGRAPHS)
    settle()
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() - 200)
    bar.setValue(bar.maximum())
    chat.grow("a90", "More. " * 200)
    settle()
    assert at_end(bar)


def test_a_round_button_leads_back_to_the_end(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show(conversation(5))
    settle()
    assert view._end_button.isHidden()
    view.verticalScrollBar().setValue(500)
    settle()
    assert view._end_button.isVisible()
    qtbot.mouseClick(view._end_button, Qt.MouseButton.LeftButton)
    settle()
    assert view._end_button.isHidden()
    assert at_end(view.verticalScrollBar())


def test_reading_upwards_never_jumps(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    """Heights above are guesses until they are measured; what is on the screen must not show it."""
    chat.show(conversation(30))
    settle()
    bar = view.verticalScrollBar()
    for _ in range(60):
        message_id, piece = middle_piece(view)
        before = place_of(view, message_id, piece)
        bar.setValue(bar.value() - 100)
        assert place_of(view, message_id, piece) == before + 100
        settle()
        assert place_of(view, message_id, piece) == before + 100


def test_a_jump_into_the_unknown_shows_something(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show(conversation(300))
    settle()
    bar = view.verticalScrollBar()
    for share in (0.5, 0.1, 0.9, 0.0):
        bar.setValue(int(bar.maximum() * share))
        screen = view.viewport().rect()
        assert any(turn.geometry().intersects(screen) for turn in view._column.views())
        settle()
        assert view._column.is_real(bar.value(), bar.value() + view.viewport().height())
        assert middle_piece(view)


def test_what_is_read_stays_when_the_window_gets_narrower(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show(conversation(20))
    settle()
    view.verticalScrollBar().setValue(9000)
    settle()
    place = view.place
    assert place is not None
    view.resize(500, 600)
    settle()
    assert view.place is not None
    assert (view.place.turn_id, view.place.piece) == (place.turn_id, place.piece)


@pytest.mark.parametrize("percent", [80, 200])
def test_what_is_read_stays_when_the_text_gets_larger(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None], percent: int
) -> None:
    chat.show(conversation(20))
    settle()
    view.verticalScrollBar().setValue(9000)
    settle()
    place = view.place
    assert place is not None
    height = view._column.height
    view.set_text_size(percent)
    settle()
    assert view.place is not None
    assert (view.place.turn_id, view.place.piece) == (place.turn_id, place.piece)
    assert (view._column.height > height) == (percent > 100)


def test_each_conversation_is_opened_where_it_was_left(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show(conversation(20), "c1")
    settle()
    view.verticalScrollBar().setValue(5000)
    settle()
    place = view.place
    chat.show(conversation(3), "c2")
    settle()
    assert at_end(view.verticalScrollBar())
    chat.show(conversation(20), "c1")
    settle()
    assert view.place == place


def test_a_place_can_be_kept_and_gone_back_to(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show(conversation(20))
    settle()
    view.verticalScrollBar().setValue(5000)
    settle()
    place = view.place
    assert place is not None
    view.scroll_to_end()
    view.go_to(place)
    settle()
    assert view.place == place


def test_a_revealed_message_is_at_the_top(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show(conversation(50))
    settle()
    chat.message_revealed.emit("u25")
    settle()
    turn = view._column.view("u25")
    assert turn is not None
    assert turn.y() == 0


def test_a_turn_that_a_person_begins_is_followed(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show(conversation(5))
    settle()
    view.verticalScrollBar().setValue(100)
    settle()
    chat.branch(10, [user(50, "And now?"), answer(50, "", status="queued")])
    settle()
    assert at_end(view.verticalScrollBar())


def test_another_version_of_an_old_answer_leaves_the_screen_where_it_is(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show(conversation(5))
    settle()
    chat.message_revealed.emit("u3")
    settle()
    value = view.verticalScrollBar().value()
    chat.branch(7, [answer(77, PARAGRAPHS, sibling_count=2), user(8, "x"), answer(8, "y")])
    settle()
    assert view.verticalScrollBar().value() == value


def test_keys_scroll(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show(conversation(10))
    settle()
    bar = view.verticalScrollBar()
    qtbot.keyClick(view, Qt.Key.Key_Home)
    settle()
    assert bar.value() == 0
    qtbot.keyClick(view, Qt.Key.Key_Space)
    first = bar.value()
    assert first > 300
    qtbot.keyClick(view, Qt.Key.Key_Space, Qt.KeyboardModifier.ShiftModifier)
    assert bar.value() == 0
