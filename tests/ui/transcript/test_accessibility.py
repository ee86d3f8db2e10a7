"""What assistive tools find: a name on everything that can be pressed or read, one announcement."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QAbstractButton, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.conversation import Activity, Attachment, Failure
from app.ui.transcript import TranscriptView, spoken
from app.ui.transcript.text import Text
from app.ui.transcript.turn_view import TurnView
from tests.ui.fake_chat import FakeChat, answer, user

EVERYTHING = "Words.\n\n```py\nx = 1\n```\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n$$x$$\n"


def show_everything(chat: FakeChat) -> None:
    failure = Failure("X", "It broke.", "Try again.")
    running = answer(3, "", reasoning="Hm. So.", status="streaming", stats=None)
    waiting = answer(4, "", status="queued", stats=None)
    chat.show(
        [
            user(1, "Q", attachments=(Attachment("a.txt", "x"),)),
            answer(1, EVERYTHING, sibling_count=2, reasoning="Hm", created_at=1e9),
            user(2, "Q"),
            answer(2, "So far", status="failed", error=failure),
            user(3, "Q"),
            running,
            user(4, "Q"),
            waiting,
        ]
    )
    chat.do(Activity("thinking", "a3"))


def accessible(widget: QWidget) -> tuple[QAccessible.Role, str]:
    interface = QAccessible.queryAccessibleInterface(widget)
    return interface.role(), interface.text(QAccessible.Text.Name)


def test_everything_that_can_be_pressed_has_a_name(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    view.resize(800, 3000)
    show_everything(chat)
    settle()
    for turn in view.findChildren(TurnView):
        for _, piece in turn.views():
            piece.set_active(True)
    buttons = [button for button in view.findChildren(QAbstractButton) if not button.isHidden()]
    assert len(buttons) > 15
    for button in buttons:
        assert accessible(button)[1], button


def test_texts_are_static_text_and_say_what_they_show(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    view.resize(800, 3000)
    show_everything(chat)
    settle()
    texts = [text for text in view.findChildren(Text) if text.isVisible()]
    assert {accessible(text)[0] for text in texts} == {QAccessible.Role.StaticText}
    said = [accessible(text)[1] for text in texts]
    assert "Words." in said
    assert "x = 1" in said
    assert "Q" in said


def test_turns_say_whose_they_are_and_when(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    view.resize(800, 3000)
    show_everything(chat)
    settle()
    names = {turn.turn.message.id: turn.accessibleName() for turn in view.findChildren(TurnView)}
    assert names["u1"] == "You"
    assert names["a1"].startswith("Assistant, ")
    assert names["a1"].rsplit(", ")[1].count(":") == 1


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("complete", "The answer is complete."),
        ("stopped", "The answer was stopped."),
        ("failed", "The answer failed."),
    ],
)
def test_an_answers_end_is_announced_once(
    view: TranscriptView,
    chat: FakeChat,
    settle: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    status: str,
    words: str,
) -> None:
    said: list[str] = []
    monkeypatch.setattr("app.ui.transcript.view.announce", lambda view, words: said.append(words))
    chat.show([user(1, "Q"), answer(1, "", status="streaming", stats=None)])
    for _ in range(5):
        chat.grow("a1", "words ")
    settle()
    chat.finish("a1", status)  # type: ignore[arg-type]
    settle()
    assert said == [words]


def test_announcing_works_without_and_with_an_assistive_tool(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    widget = QWidget()
    qtbot.addWidget(widget)
    spoken.announce(widget, "Hello")
    events: list[object] = []
    monkeypatch.setattr(spoken.QAccessible, "isActive", lambda: True)
    monkeypatch.setattr(spoken.QAccessible, "updateAccessibility", events.append)
    spoken.announce(widget, "Hello")
    assert len(events) == 1


def test_tab_goes_through_turns_and_their_controls_in_reading_order(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Q"), answer(1, "```py\nx\n```\n")])
    settle()
    view.activateWindow()
    view.setFocus()
    there = ["You", "Copy", "Edit", "Assistant", "Copy code", "Copy", "Answer again"]
    assert _tabbed(qtbot, view, Qt.Key.Key_Tab, len(there)) == there
    back = [*reversed(there[:-1]), "Conversation"]
    assert _tabbed(qtbot, view, Qt.Key.Key_Backtab, len(back)) == back


def _tabbed(qtbot: QtBot, view: TranscriptView, key: Qt.Key, times: int) -> list[str]:
    visited = []
    for _ in range(times):
        qtbot.keyClick(view.window().focusWidget(), key)
        visited.append(view.window().focusWidget().accessibleName())
    return visited


def test_tab_leaves_the_transcript_at_its_ends(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    pane = QWidget()
    qtbot.addWidget(pane)
    above, below = QPushButton("above"), QPushButton("below")
    column = QVBoxLayout(pane)
    for widget in (above, view, below):
        column.addWidget(widget)
    pane.show()
    pane.activateWindow()
    chat.show([user(1, "Q"), answer(1, "A")])
    settle()
    below.setFocus()
    above.setFocus()
    for _ in range(20):
        if below.hasFocus():
            break
        qtbot.keyClick(pane.focusWidget(), Qt.Key.Key_Tab)
    assert below.hasFocus()
    view.setFocus()
    qtbot.keyClick(view, Qt.Key.Key_Backtab)
    assert above.hasFocus()
    view.setParent(None)


def test_what_tab_comes_to_is_scrolled_into_sight(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([m for n in range(20) for m in (user(n, "Q"), answer(n, "Words. " * 200))])
    settle()
    view.verticalScrollBar().setValue(0)
    settle()
    view.activateWindow()
    view.setFocus()
    for _ in range(15):
        qtbot.keyClick(view.window().focusWidget(), Qt.Key.Key_Tab)
        settle()
        focused = view.window().focusWidget()
        top = focused.mapTo(view.viewport(), QPoint(0, 0)).y()
        assert -1 <= top < view.viewport().height()
    assert view.verticalScrollBar().value() > 100
