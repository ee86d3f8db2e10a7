"""CodeLines: rows of code, however it arrives."""

from hypothesis import given, settings
from hypothesis import strategies as st

from app.ui.transcript.code_lines import LONGEST_ROW, TAB, CodeLines

CODE = st.text(alphabet="ab\n", max_size=60)


def rows(lines: CodeLines) -> list[str]:
    return [lines.row(row) for row in range(lines.row_count)]


@settings(deadline=None, max_examples=200)
@given(CODE, st.sampled_from([None, 3, 5]), st.lists(st.integers(1, 9), max_size=20))
def test_rows_are_the_lines_cut_at_the_width(
    code: str, columns: int | None, steps: list[int]
) -> None:
    lines = CodeLines()
    lines.wrap(columns)
    shown = 0
    for step in steps:
        shown += step
        lines.set_code(code[:shown])
        assert len(lines.longest) == max(map(len, rows(lines)))
    lines.set_code(code)
    width = columns or LONGEST_ROW
    expected = [
        line[at : at + width]
        for line in code.split("\n")
        for at in range(0, max(len(line), 1), width)
    ]
    assert rows(lines) == expected


@settings(deadline=None, max_examples=100)
@given(CODE)
def test_every_position_is_in_the_row_and_the_line_that_hold_it(code: str) -> None:
    lines = CodeLines()
    lines.wrap(3)
    lines.set_code(code)
    for position in range(len(code) + 1):
        row = lines.row_of(position)
        assert lines.start(row) <= position
        start, end = lines.line_bounds(position)
        assert start <= position <= end
        assert code[start:end] == code.split("\n")[lines.line_of(position)]


def test_other_code_replaces_it() -> None:
    lines = CodeLines()
    lines.set_code("one\ntwo")
    lines.set_code("three")
    assert rows(lines) == ["three"]


def test_wrapping_can_be_undone() -> None:
    lines = CodeLines()
    lines.set_code("abcdef\ngh")
    lines.wrap(4)
    assert rows(lines) == ["abcd", "ef", "gh"]
    lines.wrap(None)
    assert rows(lines) == ["abcdef", "gh"]


def test_a_line_too_long_to_lay_out_has_several_rows() -> None:
    lines = CodeLines()
    lines.set_code("x" * (2 * LONGEST_ROW + 1))
    assert [len(row) for row in rows(lines)] == [LONGEST_ROW, LONGEST_ROW, 1]


def test_wide_letters_and_tabs_leave_room() -> None:
    lines = CodeLines()
    lines.wrap(10)
    lines.set_code("日" * 8 + "\n\t" + "x" * 9)
    assert all(len(row) <= 10 - (TAB - 1) * row.count("\t") for row in rows(lines))
    assert rows(lines)[0] == "日" * 5
