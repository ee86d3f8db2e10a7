"""CodeText: code as a Text that lays out only the rows that are painted.

All rows are of one height, so that a piece of code of any length is as cheap as the rows on the
screen. Positions are characters of the code.
"""

import html
from typing import cast

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import (
    QFontMetricsF,
    QPainter,
    QPaintEvent,
    QTextCharFormat,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QWidget

from app.blocks.readable import places_of
from app.blocks.typesetter import InkedCode
from app.ui import theme
from app.ui.theme import Role
from app.ui.transcript.code_lines import TAB, CodeLines
from app.ui.transcript.page import Page
from app.ui.transcript.text import Excerpt, Text

_KEPT_LAYOUTS = 400  # some screens of rows


class CodeText(Text):
    """Shows code in the font of fixed width, in colours as far as they are known."""

    def __init__(self, page: Page, parent: QWidget) -> None:
        super().__init__(page, parent)
        self._lines = CodeLines()
        self._inked: InkedCode | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_StaticContents)  # it grows at its end
        self._inked_lines = 0  # of which the layouts know
        self._layouts: dict[int, QTextLayout] = {}
        metrics = QFontMetricsF(page.code_font)
        self._letter = metrics.horizontalAdvance("0")
        self._above = (page.code_line - metrics.height()) / 2
        self._option = QTextOption()
        self._option.setWrapMode(QTextOption.WrapMode.NoWrap)
        self._option.setTabStopDistance(TAB * self._letter)

    def set_code(self, code: str) -> None:
        """Show this code; what it shows already keeps its colours."""
        last = self._lines.row_count - 1
        goes_on = code.startswith(self._lines.code)
        self._lines.set_code(code)
        if goes_on:
            self._layouts.pop(last, None)
            top = last * self.page.code_line
            self.update(0, top, self.width(), self.height() - top)
        else:
            self._layouts.clear()
            self.update()

    def set_ink(self, inked: InkedCode) -> None:
        """Use these colours, which may have grown since."""
        if inked is not self._inked:
            self._inked, self._inked_lines = inked, 0
        known = self._inked_lines
        stale = [r for r in self._layouts if self._lines.line_of(self._lines.start(r)) >= known]
        for row in stale:
            del self._layouts[row]
        self._inked_lines = len(inked.lines)
        self.update()

    @property
    def is_inked(self) -> bool:
        return self._inked is not None

    def fit_rows(self, width: int | None) -> tuple[int, int]:
        """Wrap to a width, or not at all; width and height in pixels of all rows."""
        columns = None if width is None else max(int(width / self._letter), 8)
        if self._lines.wrap(columns):
            self._layouts.clear()
            self.update()
        widest = QFontMetricsF(self.page.code_font).horizontalAdvance(
            self._lines.longest.expandtabs(TAB)
        )
        return int(widest + 1), self._lines.row_count * self.page.code_line

    @property
    def code(self) -> str:
        return self._lines.code

    @property
    def length(self) -> int:
        return len(self._lines.code)

    def position_at(self, point: QPoint) -> int:
        if point.y() < 0:
            return 0
        row = point.y() // self.page.code_line
        if row >= self._lines.row_count:
            return self.length
        unit = self._layout(row).lineAt(0).xToCursor(point.x())
        return self._lines.start(row) + _characters(self._lines.row(row), int(unit))

    def word_at(self, position: int) -> tuple[int, int]:
        code = self._lines.code
        start = end = position
        while start > 0 and _is_word(code[start - 1]):
            start -= 1
        while end < len(code) and _is_word(code[end]):
            end += 1
        return (start, end) if end > start else (position, min(position + 1, len(code)))

    def paragraph_at(self, position: int) -> tuple[int, int]:
        return self._lines.line_bounds(position)

    def excerpt(self, start: int, end: int) -> Excerpt:
        code = self._lines.code[start:end]
        return Excerpt(code, f"<pre>{html.escape(code)}</pre>")

    def places(self, words: str) -> list[tuple[int, int]]:
        return list(places_of(words, self._lines.code))

    def spot_of(self, position: int) -> QPoint:
        row = self._lines.row_of(position)
        unit = _units(self._lines.row(row)[: position - self._lines.start(row)])
        x = cast("tuple[float, int]", self._layout(row).lineAt(0).cursorToX(unit))[0]
        return QPoint(int(x), row * self.page.code_line)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(theme.color(Role.TEXT))
        height = self.page.code_line
        first = event.rect().top() // height
        last = min(event.rect().bottom() // height, self._lines.row_count - 1)
        for row in range(first, last + 1):
            where = QPointF(0, row * height + self._above)
            self._layout(row).draw(painter, where, self._marked_in(row))

    def _layout(self, row: int) -> QTextLayout:
        if row not in self._layouts:
            if len(self._layouts) > _KEPT_LAYOUTS:
                self._layouts.clear()
            self._layouts[row] = self._laid_out(row)
        return self._layouts[row]

    def _laid_out(self, row: int) -> QTextLayout:
        layout = QTextLayout(self._lines.row(row), self.page.code_font)
        layout.setCacheEnabled(True)  # its letters are not to be looked up again to be painted
        layout.setTextOption(self._option)
        layout.setFormats(self._colours(row))
        layout.beginLayout()
        layout.createLine()
        layout.endLayout()
        return layout

    def _colours(self, row: int) -> list[QTextLayout.FormatRange]:
        start = self._lines.start(row)
        line = self._lines.line_of(start)
        if self._inked is None or line >= len(self._inked.lines):
            return []
        before = _units(self._lines.code[self._lines.line_start(line) : start])
        length = _units(self._lines.row(row))
        ranges = []
        for at, width, ink in self._inked.lines[line]:
            if before - width < at < before + length:
                begin, shown = max(at - before, 0), width - max(before - at, 0)
                ranges.append(_range(begin, shown, self.page.code_inks[ink]))
        return ranges

    def _marked_in(self, row: int) -> list[QTextLayout.FormatRange]:
        first = self._lines.start(row)
        text = self._lines.row(row)
        ranges = []
        for *bounds, form in self.marks(first, first + len(text)):
            start, end = (min(max(p - first, 0), len(text)) for p in bounds)
            if start < end:
                begin = _units(text[:start])
                ranges.append(_range(begin, _units(text[:end]) - begin, form))
        return ranges


def _range(start: int, length: int, form: QTextCharFormat) -> QTextLayout.FormatRange:
    made = QTextLayout.FormatRange()
    made.start, made.length, made.format = start, length, form
    return made


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _units(text: str) -> int:
    """How many UTF-16 code units a text takes."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _characters(text: str, units: int) -> int:
    """How many characters the first so many UTF-16 code units of a text are."""
    if text.isascii():
        return units
    return len(text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "ignore"))
