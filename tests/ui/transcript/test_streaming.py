"""Streaming: only the tail is rendered, folded thinking is not laid out, nothing flickers."""

from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

from app.conversation import Activity, QueuedAnswer
from app.ui.transcript import TranscriptView, prose_view
from app.ui.transcript.code_view import CodeView
from app.ui.transcript.piece import PieceKind
from app.ui.transcript.progress_view import ProgressView
from app.ui.transcript.prose_view import ProseView
from app.ui.transcript.thinking_view import ThinkingView
from app.ui.transcript.turn import Turn
from tests.ui.fake_chat import FakeChat, answer, user
from tests.ui.transcript.conftest import StillTypesetter

SENTENCE = "Here is a sentence with **weight**, `code` and more of it. "


def begin(chat: FakeChat) -> None:
    chat.show([user(1, "Go on"), answer(1, "", status="streaming", stats=None)])


def flush(view: TranscriptView) -> None:
    view._feed._flow.flush()


def turn(view: TranscriptView, index: int = 1) -> Turn:
    return view._column.turns[index]


def shown_text(view: TranscriptView, message_id: str = "a1") -> str:
    shown = view._column.view(message_id)
    assert shown is not None
    texts = [piece.text for _, piece in shown.views()]
    return "\n".join(text.excerpt(0, text.length).plain for text in texts if text is not None)


def test_words_appear(view: TranscriptView, chat: FakeChat, settle: Callable[[], None]) -> None:
    begin(chat)
    for word in ("Hel", "lo, ", "world."):
        chat.grow("a1", word)
    settle()
    assert shown_text(view) == "Hello, world."


def test_only_the_tail_is_rendered_again(
    view: TranscriptView, chat: FakeChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered: list[int] = []
    real = prose_view.write_markdown

    def noting(document, markdown, page, role):  # type: ignore[no-untyped-def]
        rendered.append(len(markdown))
        return real(document, markdown, page, role)

    monkeypatch.setattr(prose_view, "write_markdown", noting)
    begin(chat)
    for _ in range(150):
        chat.grow("a1", SENTENCE * 2 + "\n\n")
        flush(view)
    total = 150 * len(SENTENCE) * 2
    assert max(rendered) < 1500
    assert sum(rendered) < total * 10


def test_folded_thinking_is_not_even_read(
    view: TranscriptView, chat: FakeChat, typesetter: StillTypesetter
) -> None:
    begin(chat)
    for n in range(100):
        chat.grow("a1", reasoning=f"Let $x_{n}$ be the term. ")
        flush(view)
    assert [piece.kind for piece in turn(view).pieces] == [PieceKind.THINKING, PieceKind.FOOTER]
    assert turn(view)._cut is not None
    assert turn(view)._cut.reasoning is None
    assert typesetter.requests == []
    assert turn(view).pieces[0].text == "Let $x_99$ be the term."


def test_thinking_unfolds_while_it_goes_on(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    begin(chat)
    chat.grow("a1", reasoning="First this.\n\n")
    settle()
    fold = view._column.view("a1").view(0)  # type: ignore[union-attr]
    assert isinstance(fold, ThinkingView)
    fold._fold.click()
    chat.grow("a1", reasoning="Then *that*.")
    settle()
    assert shown_text(view) == "First this.\nThen that."
    chat.grow("a1", text="So be it.")
    settle()
    assert shown_text(view) == "First this.\nThen that.\nSo be it."
    fold._fold.click()
    settle()
    assert shown_text(view) == "So be it."


def test_all_of_the_markdown_arrives_letter_by_letter(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    begin(chat)
    text = "Look:\n\n```py\na = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nEnd."
    kinds: list[PieceKind] = []
    for letter in text:
        chat.grow("a1", letter)
        flush(view)
        now = [piece.kind for piece in turn(view).pieces if piece.block is not None]
        assert now[: len(kinds)] == kinds
        kinds = now
    chat.finish("a1")
    settle()
    assert shown_text(view) == "Look:\na = 1\na\tb\n1\t2\nEnd."


def test_widgets_are_kept_when_the_answer_ends(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    begin(chat)
    chat.grow("a1", "One.\n\n```py\nx = 1\n```\n\nTwo.")
    settle()
    before = dict(view._column.view("a1").views())  # type: ignore[union-attr]
    chat.finish("a1")
    settle()
    after = dict(view._column.view("a1").views())  # type: ignore[union-attr]
    assert [after[i] for i in range(3)] == [before[i] for i in range(3)]
    assert not any(isinstance(v, ProseView) and v.text.caret for v in after.values())


def test_a_final_text_that_differs_wins(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    begin(chat)
    chat.grow("a1", "Hello <|im_end")
    settle()
    chat.change(answer(1, "Hello"))
    settle()
    assert shown_text(view) == "Hello"


def test_a_saved_state_that_lags_behind_does_not_take_words_away(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    begin(chat)
    chat.grow("a1", "Hello, world")
    settle()
    chat.message_changed.emit(answer(1, "Hello,", status="streaming", stats=None))
    chat.grow("a1", "!")
    settle()
    assert shown_text(view) == "Hello, world!"


def test_words_for_another_message_are_dropped(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    begin(chat)
    chat.grow("a1", "old")
    chat.show([user(5, "Other"), answer(5, "Other answer")], "c2")
    chat.shown.append(answer(1, ""))
    chat.grow("a1", "stale")
    settle()
    assert shown_text(view, "a5") == "Other answer"


def test_long_code_is_one_widget_that_lays_out_what_is_visible(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    begin(chat)
    code = "".join(f"line = {n}\n" for n in range(5000))
    for at in range(0, len(code), 5000):
        chat.grow("a1", ("```python\n" if not at else "") + code[at : at + 5000])
        flush(view)
    chat.grow("a1", "```\n")
    chat.finish("a1")
    settle()
    view.viewport().grab()
    (block,) = view.findChildren(CodeView)
    assert block.text.code == code.removesuffix("\n")
    assert block.height() > 5000 * 14
    assert len(block.text._layouts) < 200


def test_code_is_coloured_when_it_is_complete(
    view: TranscriptView,
    chat: FakeChat,
    settle: Callable[[], None],
    typesetter: StillTypesetter,
) -> None:
    begin(chat)
    chat.grow("a1", "```py\nx = 1\n")
    settle()
    chat.grow("a1", "y = 2\n```\n")
    settle()
    assert typesetter.requests[-1] == {"code": "x = 1\ny = 2", "language": "py"}
    (block,) = view.findChildren(CodeView)
    assert block.text._colours(1) == []
    typesetter.answer()
    assert [(r.start, r.length) for r in block.text._colours(1)] == [(0, 1)]


def test_formulas_come_in_when_they_are_drawn(
    view: TranscriptView,
    chat: FakeChat,
    settle: Callable[[], None],
    typesetter: StillTypesetter,
) -> None:
    chat.show([user(1, "?"), answer(1, "So $x$ is.\n\n$$y$$\n")])
    settle()
    assert {request["latex"] for request in typesetter.requests} == {"x", "y"}
    typesetter.answer()
    settle()
    texts = [p.text.document.toPlainText() for _, p in view._column.view("a1").views() if p.text]  # type: ignore[union-attr,attr-defined]
    assert texts == ["So \ufffc is.", "\ufffc"]
    assert shown_text(view) == "So $x$ is.\n$$\ny\n$$"


def test_what_an_answer_waits_for(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    begin(chat)
    waiting = [user(2, "And?"), answer(2, "", status="queued", stats=None)]
    chat.branch(2, waiting)
    chat.queue_changed.emit((QueuedAnswer("c1", "a1", 0), QueuedAnswer("c1", "a2", 1)))
    chat.do(Activity("reading", "a1", prompt_done=1200, prompt_total=3240))
    settle()
    words = {line._words for line in view.findChildren(ProgressView)}
    assert words == {"Reading prompt 37 % (1,200 of 3,240 tokens)", "Waiting: next in line"}
    chat.grow("a1", "Hi")
    chat.do(Activity("answering", "a1"))
    settle()
    assert [line._words for line in view.findChildren(ProgressView) if line.isVisible()] == [
        "Waiting: next in line"
    ]
