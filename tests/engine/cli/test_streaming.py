"""An answer in the terminal: its words stay whole, and notices stand between its lines."""

import io
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout

from engine.cli.streaming import Notices, show_answer
from engine.errors import BadOption
from engine.events import (
    AnswerStats,
    Event,
    Finished,
    PrefillProgress,
    ReasoningDelta,
    TextDelta,
)

NOTICE = "Memory is short."
END = Finished("stop", "", (), AnswerStats(0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0, 0.0, 0))


def events(notices: Notices, *told: Event | str | Exception) -> Iterator[Event]:
    """An answer during which something happens to memory: a text is a notice."""
    for thing in told:
        if isinstance(thing, str):
            notices.append(thing)
        elif isinstance(thing, Exception):
            raise thing
        else:
            yield thing


def show(*told: Event | str | Exception, quiet: bool = False) -> str:
    """Both streams, as a terminal shows them; "BadOption" at the end where that came of it."""
    screen, notices = io.StringIO(), Notices()
    with redirect_stdout(screen), redirect_stderr(screen):
        try:
            show_answer(events(notices, *told), notices, quiet=quiet)
        except BadOption:
            screen.write("BadOption")
    assert not notices
    return screen.getvalue()


def test_a_notice_waits_for_the_end_of_the_line_that_is_being_written() -> None:
    shown = show(TextDelta("A light"), NOTICE, TextDelta("house.\nIt "), TextDelta("shines."), END)
    assert shown == f"A lighthouse.\n{NOTICE}\nIt shines.\n"


def test_a_notice_during_the_last_line_comes_after_the_answer() -> None:
    shown = show(TextDelta("A light"), NOTICE, NOTICE, TextDelta("house."), END)
    assert shown == f"A lighthouse.\n{NOTICE}\n{NOTICE}\n"


def test_a_notice_before_the_first_word_is_told_at_once() -> None:
    shown = show(NOTICE, PrefillProgress(100, 200, 0), NOTICE, TextDelta("Yes."), END)
    assert shown == f"{NOTICE}\n{NOTICE}\nYes.\n"


def test_a_notice_while_the_model_reasons() -> None:
    shown = show(ReasoningDelta("Hm"), NOTICE, ReasoningDelta("m."), TextDelta("Yes."), END)
    assert shown == f"Hmm.\n\n{NOTICE}\nYes.\n"


def test_an_answer_that_fails_leaves_a_whole_line_for_the_error() -> None:
    shown = show(TextDelta("A light"), NOTICE, BadOption("No.", "Do."))
    assert shown == f"A light\n{NOTICE}\nBadOption"


def test_without_words_notices_are_told_and_nothing_else() -> None:
    assert show(TextDelta("A light"), NOTICE, TextDelta("house."), END, quiet=True) == f"{NOTICE}\n"


def test_an_answer_that_ends_with_a_line_gets_no_other() -> None:
    assert show(TextDelta("Yes.\n"), END) == "Yes.\n"
