"""Turn: heights that are known stay known; thinking is timed by who saw it begin."""

from dataclasses import replace

import pytest

from app.conversation import AnswerDelta
from app.ui.transcript import turn as turn_module
from app.ui.transcript.page import Page
from app.ui.transcript.pieces import TurnState
from app.ui.transcript.turn import Turn
from tests.ui.fake_chat import answer

WIDTH = 700


def grown(turn: Turn, text: str = "", reasoning: str = "") -> None:
    turn.grow(AnswerDelta("c1", turn.message.id, "g1", reasoning=reasoning, text=text), WIDTH)


def test_an_uncut_turn_guesses_its_height_from_its_length(page: Page) -> None:
    short, long = (Turn(answer(1, "word " * n), page) for n in (10, 1000))
    assert 0 < short.height(WIDTH) < long.height(WIDTH)
    assert long.height(WIDTH) < long.height(WIDTH // 2)
    assert not long.is_cut


def test_measured_heights_stay_while_the_tail_grows(page: Page) -> None:
    turn = Turn(answer(1, "One.\n\n```\nx\n```\n\nTwo", status="streaming", stats=None), page)
    turn.cut(TurnState(), WIDTH)
    for index in range(len(turn.pieces)):
        turn.set_height(index, 100 + index)
    grown(turn, " and more")
    assert [turn.is_measured(i) for i in range(4)] == [True, True, False, False]
    assert [turn.heights[i] for i in range(4)] == [100, 101, 102, 103]


def test_a_change_of_width_makes_measures_guesses(page: Page) -> None:
    turn = Turn(answer(1, "One."), page)
    turn.cut(TurnState(), WIDTH)
    turn.set_height(0, 77)
    turn.forget_heights()
    assert turn.heights[0] == 77
    assert not turn.is_measured(0)


def test_thinking_is_timed_until_the_first_word(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([100.0, 105.0, 112.0])
    monkeypatch.setattr(turn_module, "monotonic", lambda: next(clock))
    turn = Turn(answer(1, "", status="streaming", stats=None), page)
    turn.cut(TurnState(), WIDTH)
    grown(turn, reasoning="Hm")
    assert turn.pieces[0].since == 100.0
    grown(turn, reasoning=" hm")
    grown(turn, text="So")
    assert turn.pieces[0].since is None
    assert turn.pieces[0].seconds == 12.0


def test_the_message_knows_better_how_long_it_thought(page: Page) -> None:
    message = answer(1, "So", reasoning="Hm", reasoning_s=6.0)
    turn = Turn(message, page)
    turn.cut(TurnState(thought_s=99.0), WIDTH)
    assert turn.pieces[0].seconds == 6.0


def test_an_update_of_an_uncut_turn_is_cheap_and_kept(page: Page) -> None:
    turn = Turn(answer(1, "a", status="streaming", stats=None), page)
    turn.update(replace(turn.message, text="a much longer text " * 99, status="complete"), WIDTH)
    assert not turn.is_cut
    turn.cut(TurnState(), WIDTH)
    assert turn.pieces[0].block is not None
    assert turn.pieces[0].block.text.startswith("a much longer")
