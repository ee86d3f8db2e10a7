"""Whatever is told and done in whatever order: the screen shows what the chat has."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.conversation import Activity, Message
from app.ui.transcript import TranscriptView
from app.ui.transcript.turn_view import TurnView
from tests.ui.fake_chat import FakeChat, answer, user

TEXTS = (
    "Some **words** and `code`.\n\n",
    "- one\n- two\n\n",
    "```py\nx = 1\n```\n\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
    "$$x^2$$\n\n",
    "A long paragraph. " * 30 + "\n\n",
)


class Storm:
    """Does random things to a chat and to the view of it."""

    def __init__(self, view: TranscriptView, chat: FakeChat, seed: int) -> None:
        self.view, self.chat = view, chat
        self.random = Random(seed)
        self.number = 0

    def step(self) -> None:
        deeds = (self.ask, self.grow, self.finish, self.cut, self.scroll, self.fold, self.switch)
        self.random.choice((*deeds, self.grow, self.grow, self.select, self.resize))()

    def running(self) -> Message | None:
        return next((m for m in self.chat.shown if not m.settled), None)

    def ask(self) -> None:
        if self.running() is None:
            self.number += 1
            turns = [
                user(self.number, f"Question {self.number}"),
                answer(self.number, "", status="streaming", stats=None),
            ]
            self.chat.branch(len(self.chat.shown), turns)
            self.chat.do(Activity("reading", f"a{self.number}"))

    def grow(self) -> None:
        if message := self.running():
            text = self.random.choice(TEXTS)
            cut = self.random.randint(1, len(text))
            thinks = not message.text and self.random.random() < 0.5
            self.chat.grow(message.id, **{"reasoning" if thinks else "text": text[:cut]})

    def finish(self) -> None:
        if message := self.running():
            self.chat.finish(message.id, self.random.choice(("complete", "stopped", "failed")))

    def cut(self) -> None:
        """Another version of an answer in the middle; what followed it is on another branch."""
        settled = [i for i, m in enumerate(self.chat.shown) if m.role == "assistant" and m.settled]
        if settled and self.running() is None:
            index = self.random.choice(settled)
            self.number += 1
            text = "".join(self.random.choices(TEXTS, k=4))
            other = replace(answer(self.number, text), sibling_count=2, sibling_index=1)
            self.chat.branch(index, [other])

    def scroll(self) -> None:
        bar = self.view.verticalScrollBar()
        bar.setValue(self.random.randint(0, bar.maximum()))

    def fold(self) -> None:
        answers = [m for m in self.chat.shown if m.role == "assistant"]
        if answers:
            self.view._feed.fold(self.random.choice(answers).id)

    def switch(self) -> None:
        self.chat.show(list(self.chat.shown), self.random.choice(("c1", "c2")))

    def select(self) -> None:
        if self.chat.shown:
            self.view._selector.select_turn(self.random.choice(self.chat.shown).id)

    def resize(self) -> None:
        self.view.resize(self.random.randint(300, 1100), self.random.randint(200, 900))


@pytest.mark.parametrize("seed", range(8))
def test_the_screen_shows_what_the_chat_has(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None], seed: int
) -> None:
    storm = Storm(view, chat, seed)
    chat.show([])
    for _ in range(50):
        storm.step()
        if storm.random.random() < 0.3:
            QApplication.processEvents()
    settle()
    shown = [(t.message.id, t.message.text, t.message.status) for t in view._column.turns]
    assert shown == [(m.id, m.text, m.status) for m in chat.shown]
    _assert_laid_out(view)


def _assert_laid_out(view: TranscriptView) -> None:
    """The visible turns lie on each other without a gap, and so do their pieces."""
    turns = sorted((v for v in view._column.views()), key=lambda v: v.y())
    for above, below in itertools.pairwise(turns):
        if view._column.index_of(below.turn.message.id) == 1 + (
            view._column.index_of(above.turn.message.id) or 0
        ):
            assert above.y() + above.height() == below.y()
    height = view.viewport().height()
    for turn in turns:
        assert turn.height() == turn.turn.heights.height
        if turn.y() < height and turn.y() + turn.height() > 0:
            _assert_pieces_fit(turn, height)


def _assert_pieces_fit(turn: TurnView, height: int) -> None:
    for index, piece in turn.views():
        top = turn.turn.heights.top(index)
        assert top <= piece.y()
        assert piece.y() + piece.height() == top + turn.turn.heights[index]
        assert piece.piece == turn.turn.pieces[index]
    for index in turn.turn.heights.between(-turn.y(), height - turn.y()):
        assert turn.view(index) is not None


def test_fifty_switches_during_a_stream_mix_nothing_up(
    view: TranscriptView, chat: FakeChat, settle: Callable[[], None]
) -> None:
    whole = "".join(f"word{n} " for n in range(500))
    ours = [user(1, "Q"), answer(1, "", status="streaming", stats=None)]
    others = [user(7, "Q"), answer(7, "Another conversation.")]
    chat.show(ours)
    for at in range(0, len(whole), len(whole) // 50):
        chat.grow("a1", whole[at : at + len(whole) // 50])
        ours = list(chat.shown)
        chat.show(others, "c2")
        chat.show(ours, "c1")
    chat.finish("a1")
    settle()
    assert view._column.turns[1].message.text == whole
    chat.show(others, "c2")
    settle()
    assert view._column.turns[1].message.text == "Another conversation."


@pytest.mark.parametrize("key", [Qt.Key.Key_Backspace, Qt.Key.Key_Delete])
def test_keys_that_erase_erase_nothing(
    qtbot: QtBot, view: TranscriptView, chat: FakeChat, settle: Callable[[], None], key: Qt.Key
) -> None:
    chat.show([user(1, "Q"), answer(1, "```py\nx\n```\n")])
    settle()
    view.activateWindow()
    view.setFocus()
    for _ in range(8):
        qtbot.keyClick(view.window().focusWidget(), key)
        qtbot.keyClick(view.window().focusWidget(), Qt.Key.Key_Tab)
    view.select_all()
    qtbot.keyClick(view, key)
    assert chat.asked == []
