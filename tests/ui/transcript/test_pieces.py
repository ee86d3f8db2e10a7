"""Pieces: what a turn is cut into, in every state that it can be in."""

from dataclasses import replace

import pytest

from app.blocks.reader import blocks_of
from app.conversation import Activity, Attachment, Failure, Message
from app.ui.transcript.piece import Piece, PieceKind
from app.ui.transcript.pieces import (
    BUBBLE_LIMIT,
    TurnState,
    answer_pieces,
    block_piece,
    last_sentence,
    user_pieces,
)
from tests.ui.fake_chat import answer, user

PLAIN = TurnState()
K = PieceKind


def kinds(message: Message, state: TurnState = PLAIN) -> list[PieceKind]:
    return [piece.kind for piece in pieces_of(message, state)]


def pieces_of(message: Message, state: TurnState = PLAIN) -> list[Piece]:
    if message.role == "user":
        return user_pieces(message, state)
    thoughts = blocks_of(message.reasoning) if state.reasoning_open else []
    reasoning = [block_piece(block, is_quiet=True) for block in thoughts]
    return answer_pieces(message, reasoning, map(block_piece, blocks_of(message.text)), state)


def test_a_finished_answer() -> None:
    message = answer(1, "One.\n\n```py\nx\n```\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n$$x$$\n")
    assert kinds(message) == [K.PROSE, K.CODE, K.TABLE, K.MATH, K.FOOTER]


def test_thinking_is_one_line_while_it_is_folded() -> None:
    message = answer(1, "So.", reasoning="First.\n\n```\nx\n```\n", reasoning_s=3)
    assert kinds(message) == [K.THINKING, K.PROSE, K.FOOTER]
    unfolded = pieces_of(message, TurnState(reasoning_open=True))
    assert [p.kind for p in unfolded] == [K.THINKING, K.PROSE, K.CODE, K.PROSE, K.FOOTER]
    assert [p.is_quiet for p in unfolded] == [False, True, True, False, False]


def test_thinking_that_was_cut_short_stays_thinking() -> None:
    message = answer(1, "", reasoning="First, I", status="interrupted")
    thinking = pieces_of(message)[0]
    assert thinking.kind is K.THINKING
    assert thinking.is_unfinished


def test_while_it_thinks_the_last_whole_sentence_is_shown() -> None:
    message = answer(1, "", reasoning="First this. Then that! And no", status="streaming")
    assert pieces_of(message)[0].text == "Then that!"


@pytest.mark.parametrize(
    ("reasoning", "sentence"),
    [
        ("", ""),
        ("no end yet", ""),
        ("One. Two", "One."),
        ("one\ntwo\nthr", "two"),
        ("x. " * 1000, "x."),
        ("这是第一句。这是第", "这是第一句。"),
    ],
)
def test_last_sentence(reasoning: str, sentence: str) -> None:
    assert last_sentence(reasoning) == sentence


def test_what_an_answer_waits_for_is_shown_until_its_first_word() -> None:
    message = answer(1, "", status="streaming")
    state = TurnState(activity=Activity("reading", "a1", prompt_done=1, prompt_total=2))
    assert kinds(message, state) == [K.PROGRESS, K.FOOTER]
    assert kinds(replace(message, text="Hi"), TurnState(activity=Activity("answering", "a1"))) == [
        K.PROSE,
        K.FOOTER,
    ]


def test_an_answer_that_is_continued_shows_what_it_waits_for_below_its_text() -> None:
    message = answer(1, "So far", status="streaming")
    state = TurnState(activity=Activity("loading", "a1"))
    assert kinds(message, state) == [K.PROSE, K.PROGRESS, K.FOOTER]


@pytest.mark.parametrize("status", ["failed", "interrupted"])
def test_trouble_has_a_card_which_offers_to_continue(status: str) -> None:
    message = answer(1, "So far", status=status, error=Failure("X", "It broke."))
    *_, card, footer = pieces_of(message)
    assert card.kind is K.TROUBLE
    assert card.can_continue
    assert not footer.can_continue
    assert not pieces_of(replace(message, text=""))[-2].can_continue


def test_a_stopped_answer_can_go_on() -> None:
    assert pieces_of(answer(1, "So far", status="stopped"))[-1].can_continue


def test_a_persons_turn() -> None:
    assert kinds(user(1, "Hi")) == [K.BUBBLE, K.FOOTER]
    file = Attachment("a.txt", "x")
    assert kinds(user(1, "Hi", attachments=(file,))) == [K.ATTACHMENTS, K.BUBBLE, K.FOOTER]
    assert kinds(user(1, "", attachments=(file,))) == [K.ATTACHMENTS, K.FOOTER]
    assert kinds(user(1, "Hi"), TurnState(editing=True)) == [K.EDITOR]


def test_a_turn_that_waits_always_shows_what_can_be_done() -> None:
    assert not pieces_of(user(1, "Hi"))[-1].is_last
    assert pieces_of(user(1, "Hi"), TurnState(waits=True))[-1].is_last


@pytest.mark.parametrize("text", ["word " * 3000, "line\n" * 3000, "x" * 9000, "a\n\n\n" * 2000])
def test_long_words_of_a_person_are_one_bubble_of_many_pieces(text: str) -> None:
    bubbles = [piece for piece in pieces_of(user(1, text)) if piece.kind is K.BUBBLE]
    assert len(bubbles) > 1
    assert all(len(bubble.text) <= BUBBLE_LIMIT for bubble in bubbles)
    assert [bubble.is_first for bubble in bubbles] == [True] + [False] * (len(bubbles) - 1)
    assert [bubble.is_last for bubble in bubbles] == [False] * (len(bubbles) - 1) + [True]
    said = "".join(bubble.text for bubble in bubbles)
    assert said.replace("\n", "") == text.replace("\n", "")


def test_pieces_of_words_do_not_change_when_the_answer_ends() -> None:
    streaming = pieces_of(answer(1, "One.\n\nTwo.", status="streaming", stats=None))
    done = pieces_of(answer(1, "One.\n\nTwo."))
    assert [p for p in streaming if p.kind is K.PROSE] == [p for p in done if p.kind is K.PROSE]
