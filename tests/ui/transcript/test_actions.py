"""What can be done with a turn: by its buttons, by its menu, in place."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from app.conversation import Failure, Message
from app.ui.transcript import TranscriptView
from app.ui.transcript.code_view import CodeView
from app.ui.transcript.footer_text import footer_text
from app.ui.transcript.footer_view import FooterView
from app.ui.transcript.menu import turn_menu
from app.ui.transcript.table_view import TableView
from app.ui.transcript.trouble_view import TroubleView, trouble_words
from app.ui.transcript.turn_action import TurnAction
from tests.ui.fake_chat import STATS, FakeChat, answer, user


def footer(view: TranscriptView, message_id: str) -> FooterView:
    turn = view._column.view(message_id)
    assert turn is not None
    (found,) = [piece for _, piece in turn.views() if isinstance(piece, FooterView)]
    found.set_active(True)
    return found


def press(owner: QAbstractButton | FooterView | TroubleView, name: str) -> None:
    (button,) = [
        button
        for button in owner.findChildren(QAbstractButton)
        if name in (button.accessibleName(), button.text()) and not button.isHidden()
    ]
    button.click()


def names(owner: FooterView | TroubleView) -> list[str]:
    return [
        button.accessibleName() or button.text()
        for button in owner.findChildren(QAbstractButton)
        if not button.isHidden()
    ]


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("Answer again", ("regenerate", "a1")),
        ("Earlier version", ("switch_branch", "a1", -1)),
        ("Later version", ("switch_branch", "a1", 1)),
        ("Continue", ("continue_", "a1")),
    ],
)
def test_buttons_of_an_answer(
    view: TranscriptView,
    chat: FakeChat,
    settle: Callable[[], None],
    name: str,
    asked: tuple[object, ...],
) -> None:
    message = answer(1, "Hi", status="stopped", sibling_index=1, sibling_count=3)
    chat.show([user(1, "Q"), message])
    settle()
    press(footer(view, "a1"), name)
    assert chat.asked[-1] == asked


def test_copy_button_copies_the_source_and_says_so(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Q"), answer(1, "**Hi**")])
    settle()
    press(footer(view, "a1"), "Copy")
    assert QGuiApplication.clipboard().text() == "**Hi**"
    assert "Hi" in QGuiApplication.clipboard().mimeData().html()


def test_a_footer_is_shown_for_the_last_answer_and_takes_its_room_always(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Q"), answer(1, "Hi"), user(2, "Q"), answer(2, "Ho")])
    settle()
    shown = {
        message_id: [
            (piece.height(), any(not part.isHidden() for part in piece._parts))
            for _, piece in view._column.view(message_id).views()  # type: ignore[union-attr]
            if isinstance(piece, FooterView)
        ]
        for message_id in ("a1", "a2")
    }
    assert shown["a2"][0][1]
    assert not shown["a1"][0][1]
    assert shown["a1"][0][0] == shown["a2"][0][0]


def test_an_answer_that_is_being_written_offers_nothing_yet(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Q"), answer(1, "Hi", status="streaming", stats=None)])
    settle()
    assert names(footer(view, "a1")) == []


def test_figures() -> None:
    assert (
        footer_text(answer(1, "Hi"))
        == "Qwen3.6 35B-A3B · 11.8 tokens/s · 214 tokens · first after 0.9 s"
    )
    stopped = answer(1, "Hi", status="stopped", stats=replace(STATS, generated_tokens=132))
    assert footer_text(stopped).startswith("Stopped at 132 tokens · ")
    cut = answer(1, "Hi", finish_reason="length")
    assert footer_text(cut).startswith("Cut at the length limit · ")
    assert footer_text(answer(1, "", stats=None, model="")) == ""


def test_words_are_edited_in_place(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Why?"), answer(1, "Because.")])
    settle()
    press(footer(view, "u1"), "Edit")
    settle()
    (field,) = view.findChildren(QPlainTextEdit)
    assert field.toPlainText() == "Why?"
    field.setPlainText("Why not?")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert chat.asked == []
    field.setPlainText("Why not?")
    qtbot.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert chat.asked == [("edit", "u1", "Why not?")]


def test_editing_can_be_left(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Why?"), answer(1, "Because.")])
    settle()
    view.act("u1", TurnAction.EDIT)
    settle()
    (field,) = view.findChildren(QPlainTextEdit)
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    settle()
    assert all(editor.parentWidget().isHidden() for editor in view.findChildren(QPlainTextEdit))
    assert chat.asked == []


def test_what_was_typed_survives_a_new_palette_and_another_conversation(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    messages = [user(1, "Why?"), answer(1, "Because.")]
    chat.show(messages)
    view.act("u1", TurnAction.EDIT)
    settle()
    _field(view).setPlainText("Why on earth?")
    view.set_text_size(125)
    settle()
    assert _field(view).toPlainText() == "Why on earth?"
    chat.show([user(5, "Other")], "c2")
    chat.show(messages, "c1")
    view.act("u1", TurnAction.EDIT)
    settle()
    assert _field(view).toPlainText() == "Why on earth?"
    view.act("u1", TurnAction.STOP_EDITING)
    view.act("u1", TurnAction.EDIT)
    settle()
    assert _field(view).toPlainText() == "Why?"


def test_an_answer_that_ends_does_not_end_the_editing(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Why?"), answer(1, "Hi", status="streaming", stats=None)])
    view.act("u1", TurnAction.EDIT)
    settle()
    _field(view).setPlainText("Why on earth?")
    chat.grow("a1", " there")
    chat.finish("a1")
    chat.branch(2, [user(2, "And?"), answer(2, "", status="queued", stats=None)])
    settle()
    assert _field(view).toPlainText() == "Why on earth?"


def _field(view: TranscriptView) -> QPlainTextEdit:
    (field,) = [field for field in view.findChildren(QPlainTextEdit) if field.isVisible()]
    return field


def test_words_that_did_not_change_are_not_sent_again(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Why?"), answer(1, "Because.")])
    settle()
    view.act("u1", TurnAction.EDIT)
    settle()
    (send,) = [b for b in view.findChildren(QPushButton) if b.text() == "Send"]
    send.click()
    assert chat.asked == []


def test_a_turn_that_waits_can_be_edited_and_removed(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    running = answer(1, "Hi", status="streaming", stats=None)
    chat.show([user(1, "Q"), running, user(2, "And?"), answer(2, "", status="queued", stats=None)])
    settle()
    waiting = footer(view, "u2")
    assert names(waiting) == ["Copy", "Edit", "Remove"]
    press(waiting, "Remove")
    assert chat.asked == [("remove_queued", "u2")]
    chat.change(answer(2, "", status="streaming", stats=None))
    settle()
    assert names(footer(view, "u2")) == ["Copy", "Edit"]


def test_trouble_says_what_happened_what_is_safe_and_what_to_do(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    failure = Failure("EngineDied", "The engine stopped.", "Restart it.")
    message = answer(1, "So far", status="interrupted", error=failure, stats=None)
    chat.show([user(1, "Q"), message])
    settle()
    (card,) = view.findChildren(TroubleView)
    assert card.accessibleName() == "The engine stopped. The answer so far is kept. Restart it."
    assert names(card) == ["Continue", "Try Again"]
    press(card, "Continue")
    press(card, "Try Again")
    assert chat.asked == [("continue_", "a1"), ("regenerate", "a1")]


def test_without_a_word_it_is_the_message_that_is_safe() -> None:
    happened, next_ = trouble_words(answer(1, "", status="failed"), has_text=False)
    assert happened == "This answer was interrupted."
    assert next_ == "Your message is kept."


@pytest.mark.parametrize(
    ("message", "waits", "offered"),
    [
        (user(1, "Q"), False, ["Edit…", "Delete"]),
        (user(1, "Q"), True, ["Edit…", "Remove from Queue"]),
        (answer(1, "A"), False, ["Answer Again", "Delete"]),
        (
            answer(1, "A", status="stopped", sibling_index=1, sibling_count=3),
            False,
            ["Answer Again", "Continue", "Earlier Version", "Later Version", "Delete"],
        ),
    ],
)
def test_menu(view: TranscriptView, message: Message, waits: bool, offered: list[str]) -> None:
    done: list[TurnAction] = []
    menu = turn_menu(view, message, None, done.append, waits=waits)
    words = [action.text() for action in menu.actions() if not action.isSeparator()]
    assert words == ["Copy Message", "Copy as Plain Text", "Select Message", *offered]
    for action in menu.actions():
        action.trigger()
    assert len(done) == len(words)


def test_the_menu_offers_what_the_place_does(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Q"), answer(1, "[here it is](https://example.org/x)")])
    settle()
    text = next(p.text for _, p in view._column.view("a1").views() if p.text)  # type: ignore[union-attr]
    where = text.mapToGlobal(QPoint(10, 8))
    assert [words for words, _ in view._menu_of_place(where)] == ["Copy Link"]
    view.select_all()
    offers = dict(view._menu_of_place(where))
    assert list(offers) == ["Copy Selection", "Copy Link"]
    offers["Copy Link"]()
    assert QGuiApplication.clipboard().text() == "https://example.org/x"


def test_every_action_does_something(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Q"), answer(1, "Hi", reasoning="Hm")])
    settle()
    for action in TurnAction:
        view.act("a1", action)
    called = {call[0] for call in chat.asked}
    assert called == {"regenerate", "switch_branch", "continue_", "remove_queued", "delete"}
    view.act("gone", TurnAction.DELETE)
    assert chat.asked[-1] != ("delete", "gone")


def test_code_and_tables_are_copied_by_their_buttons(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Q"), answer(1, "```py\nx\t=  1\n```\n\n| a | b |\n|--|--|\n| 1 | 2 |\n")])
    settle()
    view.findChild(CodeView)._copy.click()
    assert QGuiApplication.clipboard().text() == "x\t=  1"
    table = view.findChild(TableView)
    table.set_active(True)
    table._copy.click()
    assert QGuiApplication.clipboard().text() == "a\tb\n1\t2"


def test_long_lines_of_code_scroll_or_wrap(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Q"), answer(1, "```py\n" + "x = 1; " * 100 + "\n```\n")])
    view.resize(400, 600)
    settle()
    code = view.findChild(CodeView)
    bar = code._wide._scroll.horizontalScrollBar()
    assert bar.maximum() > 0
    assert not code._wrap.isHidden()
    height = code.height()
    code._wrap.click()
    settle()
    assert bar.maximum() == 0
    assert code.height() > height * 3
    assert code.text.code == "x = 1; " * 100


@pytest.mark.parametrize(
    ("target", "opens"),
    [
        ("https://example.org/x", True),
        ("http://example.org", True),
        ("mailto:a@example.org", True),
        ("file:///etc/passwd", False),
        ("javascript:alert(1)", False),
        ("martlet://x", False),
        ("/etc/passwd", False),
        ("smb://server/share", False),
    ],
)
def test_only_safe_links_are_opened(
    qtbot: QtBot,
    view: TranscriptView,
    chat: FakeChat,
    settle: Callable[[], None],
    target: str,
    opens: bool,
) -> None:
    chat.show([user(1, "Q"), answer(1, f"[here it is]({target})")])
    settle()
    opened: list[QUrl] = []
    hovered: list[str] = []
    view.link_activated.connect(opened.append)
    view.link_hovered.connect(hovered.append)
    text = next(p.text for _, p in view._column.view("a1").views() if p.text)  # type: ignore[union-attr]
    where = text.mapTo(view.viewport(), QPoint(10, 8))
    text._hover(text.link_at(QPoint(10, 8)))
    assert hovered == [target]
    assert target in text.toolTip()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert [url.toString() for url in opened] == ([target] if opens else [])


def test_a_link_is_not_opened_by_selecting_it(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    chat.show([user(1, "Q"), answer(1, "[here it is](https://example.org)")])
    settle()
    opened: list[QUrl] = []
    view.link_activated.connect(opened.append)
    text = next(p.text for _, p in view._column.view("a1").views() if p.text)  # type: ignore[union-attr]
    start = text.mapTo(view.viewport(), QPoint(5, 8))
    qtbot.mousePress(view.viewport(), Qt.MouseButton.LeftButton, pos=start)
    view._pointer._move(start + QPoint(40, 0))
    qtbot.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=start + QPoint(40, 0))
    assert opened == []
    assert view.has_selection


def test_a_persons_words_are_shown_verbatim(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    words = "**not bold** <b>\n\n\ttab  two spaces\n```py\nx = 1\n```\n1) no list"
    chat.show([user(1, words), answer(1, "OK")])
    settle()
    text = next(p.text for _, p in view._column.view("u1").views() if p.text)  # type: ignore[union-attr]
    assert text.document.toPlainText() == words  # type: ignore[attr-defined]
    view.act("u1", TurnAction.COPY)
    assert QGuiApplication.clipboard().text() == words


def test_a_paste_of_a_megabyte_comes_through_whole(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    words = "a line\twith a tab, and some more words\n" * 26_000
    chat.show([user(1, words), answer(1, "OK")])
    settle()
    view.act("u1", TurnAction.COPY)
    assert QGuiApplication.clipboard().text() == words
