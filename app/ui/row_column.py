"""RowColumn: a column of sidebar rows in which only the visible ones are widgets.

A list of thousands costs as much as a screenful. Item views are avoided on purpose: Qt's
accessibility bridge for their cells crashes on macOS while rows come and go (QTBUG-149612).
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from PySide6.QtCore import QEvent, QRect, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from app.ui import theme
from app.ui.scroll_bar import use_thin_scroll_bar
from app.ui.sidebar_row import SidebarRow, row_heights
from app.ui.sidebar_rows import Row

MARGIN = 10  # px at both sides of the rows


class RowColumn(QAbstractScrollArea):
    """Lays rows out and scrolls. What a row shows and what happens to it is the subclass's."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[Row, ...] = ()
        self._tops: list[int] = [0]  # of each row, and the end of the last
        self._pool: list[SidebarRow] = []
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        use_thin_scroll_bar(self)
        self.verticalScrollBar().valueChanged.connect(self.refresh)
        self.viewport().setAutoFillBackground(False)

    def fill(self, widget: SidebarRow, row: Row) -> None:
        """Have `widget` show `row`."""
        raise NotImplementedError

    def prepare(self, widget: SidebarRow) -> None:
        """A new widget joins the pool."""

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Show these rows; the scroll position stays where it can."""
        self._rows = tuple(rows)
        self._measure()

    def rows(self) -> tuple[Row, ...]:
        """The rows shown, from the top."""
        return self._rows

    def row_widgets(self) -> list[SidebarRow]:
        """The rows that are widgets now: those on the screen."""
        return [widget for widget in self._pool if not widget.isHidden()]

    def rectangle(self, row: Row) -> QRect:
        """Where a row is, in the viewport, for an editor laid over it."""
        index = self._rows.index(row)
        top = self._tops[index] - self.verticalScrollBar().value()
        return QRect(MARGIN, top, self._row_width(), self._tops[index + 1] - self._tops[index])

    def rows_down_to(self, y: int) -> tuple[Row, ...]:
        """The rows from the top to the one at this height of the viewport."""
        return self._rows[: bisect_right(self._tops, y + self.verticalScrollBar().value())]

    def reveal(self, row: Row) -> None:
        """Scroll as little as shows the row."""
        place = self.rectangle(row)
        bar = self.verticalScrollBar()
        if place.top() < 0:
            bar.setValue(bar.value() + place.top())
        elif place.bottom() > self.viewport().height():
            bar.setValue(bar.value() + place.bottom() - self.viewport().height())

    def refresh(self) -> None:
        """Put the visible rows where they belong, and fill them anew."""
        offset = self.verticalScrollBar().value()
        first = max(bisect_right(self._tops, offset) - 1, 0)
        last = bisect_right(self._tops, offset + self.viewport().height())
        shown = self._rows[first:last]
        self._grow_pool(len(shown))
        for place, (widget, row) in enumerate(zip(self._pool, shown, strict=False), first):
            top, bottom = self._tops[place : place + 2]
            widget.setGeometry(MARGIN, top - offset, self._row_width(), bottom - top)
            self.fill(widget, row)
            widget.show()
        for widget in self._pool[len(shown) :]:
            widget.hide()

    def _measure(self) -> None:
        self._tops = list(accumulate(row_heights(self._rows), initial=0))
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, self._tops[-1] + 2 * theme.SPACE - self.viewport().height()))
        bar.setPageStep(self.viewport().height())
        bar.setSingleStep(5 * theme.SPACE)
        self.refresh()

    def _grow_pool(self, size: int) -> None:
        while len(self._pool) < size:
            widget = SidebarRow(self.viewport())
            self.prepare(widget)
            self._pool.append(widget)

    def _row_width(self) -> int:
        return self.viewport().width() - 2 * MARGIN

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._measure()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ApplicationFontChange:
            self._measure()
