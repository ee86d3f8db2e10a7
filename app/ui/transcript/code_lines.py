"""CodeLines: a piece of code as the rows in which it is shown. Knows no widget.

A row is a stretch of a line: the whole line, unless lines are wrapped, or it is longer than one
layout can bear. Positions are characters of the code.
"""

from bisect import bisect_right
from itertools import accumulate

TAB = 4  # columns
LONGEST_ROW = 2000  # characters; a longer line is shown in several rows


class CodeLines:
    """Grows at its end at the cost of what is new."""

    def __init__(self) -> None:
        self.code = ""
        self._columns = LONGEST_ROW
        self._rows: list[int] = [0]  # where each row begins
        self._lines: list[int] = [0]  # where each line begins
        self._widest = 0  # of the rows before `_compared`, the one with the most characters
        self._compared = 0

    def set_code(self, code: str) -> None:
        """Show another text; one that only goes on costs no more than its end."""
        if not code.startswith(self.code):
            self._forget()
        at = len(self.code)
        self.code = code
        self._read(at)

    def wrap(self, columns: int | None) -> bool:
        """Break lines after so many characters, or, with None, only where they are too long to lay
        out. Whether that changed anything.
        """
        columns = max(min(columns or LONGEST_ROW, LONGEST_ROW), 1)
        if columns == self._columns:
            return False
        self._columns = columns
        code = self.code
        self._forget()
        self.set_code(code)
        return True

    @property
    def row_count(self) -> int:
        return len(self._rows)

    @property
    def longest(self) -> str:
        """The row that is likely to be the widest."""
        final = self.row_of(self._lines[-1])  # the rows from here on may still change
        self._widest = max((self._widest, *range(self._compared, final)), key=self._size)
        self._compared = final
        return self.row(max((self._widest, *range(final, self.row_count)), key=self._size))

    def start(self, row: int) -> int:
        """The position at which a row begins."""
        return self._rows[row]

    def row(self, row: int) -> str:
        """The text of a row."""
        end = self._rows[row + 1] if row + 1 < len(self._rows) else len(self.code)
        return self.code[self._rows[row] : end].removesuffix("\n")

    def row_of(self, position: int) -> int:
        """The row that holds a position."""
        return bisect_right(self._rows, position) - 1

    def line_of(self, position: int) -> int:
        """The line that holds a position."""
        return bisect_right(self._lines, position) - 1

    def line_start(self, line: int) -> int:
        return self._lines[line]

    def line_bounds(self, position: int) -> tuple[int, int]:
        """Start and end of the line around a position, without its line feed."""
        line = self.line_of(position)
        following = self._lines[line + 1] - 1 if line + 1 < len(self._lines) else len(self.code)
        return self._lines[line], following

    def _forget(self) -> None:
        self.code = ""
        self._rows, self._lines = [0], [0]
        self._widest = self._compared = 0

    def _size(self, row: int) -> int:
        return len(self.row(row))

    def _read(self, at: int) -> None:
        """Find the rows of what begins at a position, in the line that was last until now."""
        lines = self.code[at:].split("\n")
        starts = list(accumulate((len(line) + 1 for line in lines), initial=at))
        self._lines += starts[1:-1]
        first = self._lines[-len(lines)]
        while len(self._rows) > 1 and self._rows[-1] > first:
            self._rows.pop()
        if self._are_rows(lines, first, at):
            self._rows += starts[1:-1]
            return
        for start, end in zip([first, *starts[1:-1]], starts[1:], strict=True):
            step = self._step(self.code[start : end - 1])
            self._rows += range(start + step, end - 1, step)
            if end <= len(self.code):
                self._rows.append(end)

    def _are_rows(self, lines: list[str], first: int, at: int) -> bool:
        """Whether every line fits its row; what is wide in another way is looked at singly."""
        lengths = at - first + len(lines[0]), *map(len, lines)
        is_plain = self._columns == LONGEST_ROW or (self.code.isascii() and "\t" not in self.code)
        return is_plain and max(lengths) <= self._columns

    def _step(self, line: str) -> int:
        """How many characters of a line go into a row: tabs and most foreign letters are wide."""
        if self._columns == LONGEST_ROW or (line.isascii() and "\t" not in line):
            return self._columns
        narrow = self._columns - (TAB - 1) * line.count("\t")
        return max(narrow if line.isascii() else 0, self._columns // 2, 1)
