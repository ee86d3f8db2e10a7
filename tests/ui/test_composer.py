"""Composer: Return, input methods, drafts, files, the queue, Stop."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QInputMethodEvent, QTextCursor
from PySide6.QtWidgets import QAbstractButton, QApplication
from pytestqt.qtbot import QtBot

from app.conversation import Activity, Attachment, Conversation, TokenCount
from app.settings import Overrides
from app.ui import composer_text
from app.ui.composer import Composer, count_words
from app.ui.composer_files import cost_words
from app.ui.composer_text import MOST_LINES
from tests.ui.fake_chat import FakeChat, answer, user

NONE = Qt.KeyboardModifier.NoModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
ALT = Qt.KeyboardModifier.AltModifier
COMMAND = Qt.KeyboardModifier.ControlModifier
KEYPAD = Qt.KeyboardModifier.KeypadModifier
RETURN, ENTER = Qt.Key.Key_Return, Qt.Key.Key_Enter


@pytest.fixture
def chat() -> FakeChat:
    return FakeChat()


@pytest.fixture
def composer(qtbot: QtBot, chat: FakeChat) -> Composer:
    composer = Composer(chat)
    qtbot.addWidget(composer)
    composer.resize(600, 150)
    with qtbot.waitExposed(composer):
        composer.show()
    composer.take_focus()
    return composer


def compose(composer: Composer, preedit: str, commit: str = "") -> None:
    """What an input method does while a word is chosen."""
    event = QInputMethodEvent(preedit, [])
    if commit:
        event.setCommitString(commit)
    QApplication.sendEvent(composer.text, event)


def sent(chat: FakeChat) -> list[tuple[object, ...]]:
    return [call for call in chat.asked if call[0] == "send"]


def visible(composer: Composer) -> list[str]:
    return [
        button.accessibleName()
        for button in (composer._stop, composer._send)
        if not button.isHidden()
    ]


@pytest.mark.parametrize(
    ("key", "held", "return_sends", "sends"),
    [
        (RETURN, NONE, True, True),
        (ENTER, KEYPAD, True, True),
        (RETURN, SHIFT, True, False),
        (RETURN, ALT, True, False),
        (RETURN, COMMAND, True, True),
        (RETURN, NONE, False, False),
        (RETURN, SHIFT, False, False),
        (RETURN, COMMAND, False, True),
    ],
)
def test_return(
    qtbot: QtBot,
    composer: Composer,
    chat: FakeChat,
    key: Qt.Key,
    held: Qt.KeyboardModifier,
    return_sends: bool,
    sends: bool,
) -> None:
    composer.set_return_sends(return_sends)
    qtbot.keyClicks(composer.text, "Hello")
    qtbot.keyClick(composer.text, key, held)
    assert sent(chat) == ([("send", "Hello", ())] if sends else [])
    assert composer.text.toPlainText() == ("" if sends else "Hello\n")


def test_return_is_the_input_methods_while_it_composes(
    qtbot: QtBot, composer: Composer, chat: FakeChat
) -> None:
    compose(composer, "nihon")
    qtbot.keyClick(composer.text, RETURN)
    assert sent(chat) == []
    compose(composer, "", commit="日本")
    assert composer.text.toPlainText() == "日本"
    qtbot.keyClick(composer.text, RETURN)
    assert sent(chat) == [("send", "日本", ())]


def test_esc_is_the_input_methods_while_it_composes(
    qtbot: QtBot, composer: Composer, chat: FakeChat
) -> None:
    chat.do(Activity("answering", "a1"))
    compose(composer, "nihon")
    qtbot.keyClick(composer.text, Qt.Key.Key_Escape)
    assert ("stop",) not in chat.asked


@pytest.mark.parametrize("text", ["", "  ", "\n\n"])
def test_nothing_is_not_sent(qtbot: QtBot, composer: Composer, chat: FakeChat, text: str) -> None:
    composer.text.setPlainText(text)
    qtbot.keyClick(composer.text, RETURN)
    assert sent(chat) == []
    assert not composer._send.isEnabled()


def test_words_are_sent_as_they_were_written(composer: Composer, chat: FakeChat) -> None:
    composer.text.setPlainText("\n\tindented\n\n  two  spaces\n\n")
    composer.send()
    assert sent(chat) == [("send", "\tindented\n\n  two  spaces", ())]


def test_it_grows_to_some_lines_and_scrolls_then(composer: Composer) -> None:
    heights = []
    for lines in (1, 2, MOST_LINES, MOST_LINES + 5):
        composer.text.setPlainText("\n".join("x" * lines))
        heights.append(composer.text.sizeHint().height())
    one, two, most, more = heights
    assert one < two < most == more


def test_wrapped_lines_count(qtbot: QtBot, composer: Composer) -> None:
    one = composer.text.sizeHint().height()
    composer.text.setPlainText("many words " * 40)
    qtbot.waitUntil(lambda: composer.text.height() > 2 * one)


def test_it_can_be_used_while_an_answer_streams(
    qtbot: QtBot, composer: Composer, chat: FakeChat
) -> None:
    chat.do(Activity("answering", "a1"))
    assert visible(composer) == ["Stop"]
    qtbot.keyClicks(composer.text, "And then?")
    assert visible(composer) == ["Stop", "Add to the queue"]
    qtbot.keyClick(composer.text, RETURN)
    assert sent(chat) == [("send", "And then?", ())]
    assert visible(composer) == ["Stop"]
    chat.do(Activity())
    assert visible(composer) == ["Send"]


@pytest.mark.parametrize(("key", "held"), [(Qt.Key.Key_Escape, NONE), (Qt.Key.Key_Period, COMMAND)])
def test_keys_that_stop(
    qtbot: QtBot, composer: Composer, chat: FakeChat, key: Qt.Key, held: Qt.KeyboardModifier
) -> None:
    qtbot.keyClick(composer.text, key, held)
    assert ("stop",) not in chat.asked
    chat.do(Activity("reading", "a1"))
    qtbot.keyClick(composer.text, key, held)
    assert chat.asked.count(("stop",)) == 1


def test_stop_shows_itself_at_once_and_is_asked_for_once(
    composer: Composer, chat: FakeChat
) -> None:
    chat.do(Activity("thinking", "a1"))
    composer._stop.click()
    assert not composer._stop.isEnabled()
    composer.stop()
    assert chat.asked.count(("stop",)) == 1
    chat.do(Activity("stopping", "a1"))
    assert not composer._stop.isEnabled()
    chat.do(Activity())
    chat.do(Activity("answering", "a2"))
    assert composer._stop.isEnabled()


def test_every_change_is_kept_as_the_draft(
    qtbot: QtBot, composer: Composer, chat: FakeChat
) -> None:
    qtbot.keyClicks(composer.text, "ab")
    assert [call for call in chat.asked if call[0] == "save_draft"] == [
        ("save_draft", "a"),
        ("save_draft", "ab"),
    ]


def open_conversation(chat: FakeChat, conversation_id: str, draft: str) -> None:
    """As the controller tells it."""
    chat.show([user(1, "Q"), answer(1, "A")], conversation_id)
    chat.draft_restored.emit(draft, ())


def test_each_conversation_has_its_own_draft(composer: Composer, chat: FakeChat) -> None:
    composer.text.setPlainText("of the first")
    composer.files.add([Attachment("a.txt", "x")])
    chat.asked.clear()
    open_conversation(chat, "c2", "of the second")
    assert composer.text.toPlainText() == "of the second"
    assert composer.files.files == ()
    assert [call for call in chat.asked if call[0] == "save_draft"] == []
    open_conversation(chat, "c1", "")
    assert composer.text.toPlainText() == ""


def test_a_turn_that_could_not_be_saved_comes_back_before_what_was_written_since(
    composer: Composer, chat: FakeChat
) -> None:
    file = Attachment("a.txt", "x")
    composer.text.setPlainText("first")
    composer.files.add([file])
    composer.send()
    composer.text.setPlainText("second")
    chat.asked.clear()
    chat.draft_restored.emit("first", (file,))
    assert composer.text.toPlainText() == "first\n\nsecond"
    assert composer.files.files == (file,)
    assert ("save_draft", "first\n\nsecond") in chat.asked


def test_files_go_with_the_message_and_show_their_cost(composer: Composer, chat: FakeChat) -> None:
    file = Attachment("data.csv", "word " * 4000)
    chat.attachments_read.emit((file,))
    assert cost_words(file) == "about 5,000 tokens"
    assert not composer.files.isHidden()
    composer.send()
    assert sent(chat) == [("send", "", (file,))]
    assert composer.files.isHidden()


def test_a_file_is_taken_away_by_its_button(composer: Composer, chat: FakeChat) -> None:
    chat.attachments_read.emit((Attachment("a.txt", "x"), Attachment("b.txt", "y")))
    (remove,) = [
        button
        for button in composer.files.findChildren(QAbstractButton)
        if button.accessibleName() == "Remove a.txt"
    ]
    remove.click()
    assert [file.name for file in composer.files.files] == ["b.txt"]
    assert chat.asked[-1] == ("count_draft", "", composer.files.files)


def test_a_file_that_is_attached_twice_is_replaced(composer: Composer, chat: FakeChat) -> None:
    chat.attachments_read.emit((Attachment("a.txt", "old"),))
    chat.attachments_read.emit((Attachment("a.txt", "new"),))
    assert composer.files.files == (Attachment("a.txt", "new"),)


def mime(*urls: str) -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl(url) for url in urls])
    return data


def test_files_can_be_dropped_and_pasted(composer: Composer, chat: FakeChat) -> None:
    data = mime("file:///home/me/a.py", "file:///home/me/b.txt")
    drop = QDropEvent(
        QPointF(5, 5),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        NONE,
        QEvent.Type.Drop,
    )
    composer._card.dropEvent(drop)
    composer.text.insertFromMimeData(data)
    paths = (Path("/home/me/a.py"), Path("/home/me/b.txt"))
    assert [call for call in chat.asked if call[0] == "attach"] == [("attach", paths)] * 2


def test_links_to_the_web_are_text(composer: Composer, chat: FakeChat) -> None:
    data = mime("https://example.org/x")
    data.setText("https://example.org/x")
    composer.text.insertFromMimeData(data)
    assert composer.text.toPlainText() == "https://example.org/x"
    assert composer_text.files_in(mime("file:///a", "https://example.org")) == []


def test_what_is_pasted_has_no_format(composer: Composer) -> None:
    data = QMimeData()
    data.setText("plain\n\twith a tab")
    data.setHtml("<b>plain</b>")
    composer.text.insertFromMimeData(data)
    assert composer.text.toPlainText() == "plain\n\twith a tab"
    composer.text.moveCursor(QTextCursor.MoveOperation.Start)


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (TokenCount(4, 1204, 32_768, exact=True), "1,204 of 32,768 tokens"),
        (TokenCount(4, 1204, 32_768, exact=False), "about 1,204 of 32,768 tokens"),
        (TokenCount(4, 1204, None, exact=False), "about 1,204 tokens"),
        (TokenCount(4, 40_000, 32_768, exact=True), "40,000 of 32,768 tokens: too long"),
    ],
)
def test_count(count: TokenCount, words: str) -> None:
    assert count_words(count) == words


def test_what_is_certainly_too_long_is_not_sent(composer: Composer, chat: FakeChat) -> None:
    composer.text.setPlainText("long")
    chat.count(40_000, 32_768)
    composer.send()
    assert sent(chat) == []
    assert composer.text.toPlainText() == "long"
    chat.count(40_000, 32_768, exact=False)
    composer.send()
    assert len(sent(chat)) == 1


def test_the_count_is_asked_for_when_anything_changes(composer: Composer, chat: FakeChat) -> None:
    changes: list[Callable[[], object]] = [
        lambda: composer.text.insertPlainText("x"),
        lambda: composer.files.add([Attachment("a.txt", "x")]),
        lambda: chat.branch(0, [user(1, "Q")]),
        lambda: open_conversation(chat, "c2", ""),
    ]
    for change in changes:
        chat.asked.clear()
        change()
        assert "count_draft" in {call[0] for call in chat.asked}


def test_thinking_is_chosen_for_the_conversation(composer: Composer, chat: FakeChat) -> None:
    composer.set_thinking(available=True, by_default=False)
    assert not composer._think.isChecked()
    composer._think.click()
    assert chat.asked[-1] == ("set_overrides", Overrides(thinking=True))
    assert composer._think.isChecked()
    chat.conversation_changed.emit(Conversation("c2", "Other"))
    assert not composer._think.isChecked()


def test_a_model_that_cannot_think_has_no_button_for_it(composer: Composer) -> None:
    composer.set_thinking(available=False, by_default=True)
    assert composer._think.isHidden()


def test_everything_has_a_name_and_tab_goes_through(
    qtbot: QtBot, composer: Composer, chat: FakeChat
) -> None:
    chat.do(Activity("answering", "a1"))
    chat.attachments_read.emit((Attachment("a.txt", "x"),))
    assert all(button.accessibleName() for button in composer.findChildren(QAbstractButton))
    assert composer.text.accessibleName() == "Message"
    visited = []
    for _ in range(6):
        qtbot.keyClick(composer.window().focusWidget(), Qt.Key.Key_Tab)
        visited.append(composer.window().focusWidget().accessibleName())
    expected = ["Attach files…", "Think", "Stop", "Add to the queue"]
    assert visited[:4] == expected
    assert "Remove a.txt" in visited


def test_right_to_left_words_stand_at_the_right(composer: Composer) -> None:
    composer.text.setPlainText("שלום")
    block = composer.text.document().firstBlock()
    assert block.textDirection() == Qt.LayoutDirection.RightToLeft
    assert composer.text.cursorRect().x() < composer.text.width() - 20


def test_a_megabyte_can_be_pasted(composer: Composer, chat: FakeChat) -> None:
    words = "a line\twith a tab\n" * 60_000
    data = QMimeData()
    data.setText(words)
    composer.text.insertFromMimeData(data)
    composer.send()
    assert sent(chat) == [("send", words.rstrip(), ())]


def test_drops_are_shown(composer: Composer) -> None:
    card = composer._card
    assert card.acceptDrops()
    card._set_target(True)
    card.grab()
    card._set_target(False)
    assert card.mapTo(composer, QPoint(0, 0)).x() > 0
