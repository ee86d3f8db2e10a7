"""What is on the glass: moved and partly painted pixels are those of a fresh picture."""

from collections.abc import Callable

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication

from app.ui.transcript import TranscriptView
from tests.ui.fake_chat import FakeChat, answer, user

TEXT = (
    "Some **words** and `code`, enough of them to fill more than one line of the column.\n\n"
    "```py\nx = 1\ny = 2\n```\n\n- one\n- two\n\n> quoted\n\n"
)
TURNS = 3  # of the event loop: one of them may only wake it up
ROUNDING = 2  # of 255


def on_the_glass(view: TranscriptView) -> QImage:
    """What the window's surface holds, once all is made."""
    while view.is_busy:
        QApplication.processEvents()
    for _ in range(TURNS):
        QApplication.processEvents()
    return view.screen().grabWindow(view.winId()).toImage()


def assert_right(view: TranscriptView) -> None:
    """The surface is what painting everything anew gives; the scroll bar is not ours."""
    shown = on_the_glass(view)
    fresh = view.grab().toImage().convertToFormat(shown.format())
    area = view.viewport().geometry()
    assert is_like(shown.copy(area), fresh.copy(area))


def is_like(one: QImage, other: QImage) -> bool:
    """Whether two pictures are the same but for the rounding of edges that were cut."""
    pairs = zip(bytes(one.constBits()), bytes(other.constBits()), strict=True)
    return one == other or all(abs(a - b) <= ROUNDING for a, b in pairs)


def test_while_an_answer_grows(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    thinking = answer(1, "", status="streaming", stats=None)
    chat.show([user(1, "Go on"), thinking])
    view.set_reasoning_open(True)
    for at in range(0, len(TEXT), 60):
        chat.grow("a1", reasoning=TEXT[at : at + 60])
        view._feed._flow.flush()
        assert_right(view)
    for at in range(0, 3 * len(TEXT), 110):
        chat.grow("a1", text=(3 * TEXT)[at : at + 110])
        view._feed._flow.flush()
        assert_right(view)
    chat.finish("a1")
    settle()
    assert_right(view)


@pytest.mark.parametrize("step", [7, -33, 150, -420, 2000])
def test_while_scrolling(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None], step: int
) -> None:
    chat.show([m for n in range(12) for m in (user(n, "Question"), answer(n, 2 * TEXT))])
    settle()
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    settle()
    for _ in range(4):
        bar.setValue(bar.value() + step)
        settle()
        assert_right(view)


def test_while_selecting_and_folding(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    messages = [user(1, "Q"), answer(1, TEXT, reasoning=TEXT), user(2, "Q"), answer(2, TEXT)]
    chat.show(messages)
    settle()
    for change in (
        lambda: view.select_all(),
        lambda: view._selector.clear(),
        lambda: view._feed.fold("a1"),
        lambda: view._feed.fold("a1"),
        lambda: view.resize(700, 500),
        lambda: view.set_text_size(125),
    ):
        change()
        settle()
        assert_right(view)
