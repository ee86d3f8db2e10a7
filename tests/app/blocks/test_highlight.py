"""Colours of code: where the words stand, counted as Qt counts."""

from app.blocks.drawing import Ink
from app.blocks.highlight import highlight


def test_python() -> None:
    lines = list(highlight("def f(x):\n    return 'a'  # no\n", "python"))
    assert lines[0][:2] == [(0, 3, Ink.KEYWORD), (4, 1, Ink.NAME)]
    assert lines[1][0] == (4, 6, Ink.KEYWORD)
    assert lines[1][-1] == (16, 4, Ink.COMMENT)


def test_there_is_a_line_for_every_line() -> None:
    code = "\n\n'''a\nb'''\n\nx = 1"
    assert len(list(highlight(code, "py"))) == len(code.split("\n"))


def test_a_string_over_lines_is_coloured_on_each() -> None:
    lines = list(highlight("x = '''a\nbc'''", "python"))
    assert lines[1] == [(0, 2, Ink.STRING), (2, 3, Ink.STRING)]


def test_an_emoji_takes_two_units() -> None:
    ((first, second, *_), *_) = list(highlight("'😀' # x", "python"))[:1]
    assert first == (0, 1, Ink.STRING)
    assert second == (1, 2, Ink.STRING)


def test_unknown_language_stays_plain() -> None:
    assert list(highlight("x = 1", "no-such-language")) == []
    assert list(highlight("x = 1", "")) == []


def test_a_diff_shows_what_came_and_went() -> None:
    added, removed = list(highlight("+a\n-b", "diff"))
    assert added[0][2] == Ink.ADDED
    assert removed[0][2] == Ink.REMOVED
