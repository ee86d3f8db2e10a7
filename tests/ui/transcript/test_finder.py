"""Found words are marked where they are read, one of them before all others, and in sight."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint

from app.ui.transcript import TranscriptView
from app.ui.transcript.text import Text
from tests.ui.fake_chat import FakeChat, answer, user

Settle = Callable[[], None]
Marks = list[tuple[str, bool]]


def marks(view: TranscriptView, message_id: str) -> Marks:
    """The words that are marked in a message, and whether the reader is there."""
    turn = view._column.view(message_id)
    assert turn is not None, f"{message_id} is out of sight"
    found: Marks = []
    for _, piece in turn.views():
        if (text := piece.text) is not None:
            for index, (start, end) in enumerate(text.found):
                found.append((text.excerpt(start, end).plain, index == text.here))
    return found


def here(view: TranscriptView) -> Text:
    """The text that holds the place where the reader is."""
    texts = [
        piece.text
        for turn in view._column.views()
        for _, piece in turn.views()
        if piece.text is not None and piece.text.here is not None
    ]
    assert len(texts) == 1
    return texts[0]


def y_of_here(view: TranscriptView) -> int:
    text = here(view)
    assert text.here is not None
    spot = text.spot_of(text.found[text.here][0])
    return text.mapTo(view.viewport(), spot).y()


def test_words_are_marked_in_all_kinds_of_text(
    view: TranscriptView, chat: FakeChat, settle: Settle
) -> None:
    code = "```python\nprime = 2\n```"
    table = "| prime |\n|---|\n| 3 |"
    chat.show([user(1, "A Prime?"), answer(1, f"**Prime** and [x](prime).\n\n{code}\n\n{table}")])
    settle()
    view.look_for("prime")
    assert marks(view, "u1") == [("Prime", False)]
    assert marks(view, "a1") == [("Prime", False), ("prime", False), ("prime", False)]
    view.show_found("a1", 1)
    assert marks(view, "a1") == [("Prime", False), ("prime", True), ("prime", False)]
    view.show_found("u1", 0)
    assert marks(view, "u1") == [("Prime", True)]
    assert not any(is_here for _, is_here in marks(view, "a1"))


def test_marks_go_when_nothing_is_looked_for(
    view: TranscriptView, chat: FakeChat, settle: Settle
) -> None:
    chat.show([user(1, "A prime?")])
    settle()
    view.look_for("prime")
    view.look_for("")
    assert marks(view, "u1") == []


def test_a_growing_answer_is_marked_as_it_comes(
    view: TranscriptView, chat: FakeChat, settle: Settle
) -> None:
    chat.show([user(1, "?"), answer(1, "", status="streaming", stats=None)])
    view.look_for("prime")
    chat.grow("a1", "Every prime")
    settle()
    assert marks(view, "a1") == [("prime", False)]


def test_letters_of_two_units_do_not_shift_marks(
    view: TranscriptView, chat: FakeChat, settle: Settle
) -> None:
    chat.show([user(1, "🐦🐦 prime"), answer(1, "🐦 prime\n\n```\n🐦 prime\n```")])
    settle()
    view.look_for("prime")
    assert marks(view, "u1") == [("prime", False)]
    assert marks(view, "a1") == [("prime", False)] * 2


def test_folded_thinking_and_its_words_are_left_alone(
    view: TranscriptView, chat: FakeChat, settle: Settle
) -> None:
    view.set_reasoning_open(True)
    chat.show([answer(1, "A prime.", reasoning="Is it prime?", reasoning_s=1.0)])
    settle()
    view.look_for("prime")
    assert marks(view, "a1") == [("prime", False)]


@pytest.mark.parametrize("number", [0, 30, 59])
def test_a_place_far_away_comes_into_sight(
    view: TranscriptView, chat: FakeChat, settle: Settle, number: int
) -> None:
    long = "\n\n".join(f"Paragraph {n} has a prime. " + "word " * 80 for n in range(60))
    filler = [answer(n, "nothing " * 200) for n in range(2, 40)]
    chat.show([answer(1, long), *filler])
    settle()
    view.look_for("prime")
    view.show_found("a1", number)
    settle()
    text = here(view)
    assert text.here is not None
    assert text.excerpt(*text.paragraph_at(text.found[text.here][0])).plain.startswith(
        f"Paragraph {number} "
    )
    assert 0 <= y_of_here(view) < view.viewport().height()


def test_a_place_in_sight_does_not_move_the_screen(
    view: TranscriptView, chat: FakeChat, settle: Settle
) -> None:
    chat.show([answer(n, "prime " + "word " * 300) for n in range(10)])
    settle()
    view.look_for("prime")
    view.show_found("a8", 0)
    settle()
    before = view.verticalScrollBar().value()
    view.show_found("a8", 0)
    settle()
    assert view.verticalScrollBar().value() == before


def test_code_that_is_wider_than_the_column_is_moved_sideways(
    view: TranscriptView, chat: FakeChat, settle: Settle
) -> None:
    chat.show([answer(1, "```\n" + "x" * 300 + " prime\n```")])
    settle()
    view.look_for("prime")
    view.show_found("a1", 0)
    settle()
    text = here(view)
    x = text.mapTo(view.viewport(), QPoint(text.spot_of(301).x(), 0)).x()
    assert 0 <= x < view.viewport().width()
