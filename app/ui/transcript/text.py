"""Text: text that can be selected, together with the texts above and below it.

It handles no mouse button itself: `Selector` sees a drag that runs through several texts as one.
It is a QLabel without text of its own, so that assistive tools take it for static text, which
they read by its accessible name. Positions count from the text's beginning; their unit is the
subclass's own.
"""

import html
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QMouseEvent, QPalette, QTextCharFormat
from PySide6.QtWidgets import QLabel, QWidget

from app.ui import theme
from app.ui.theme import Role
from app.ui.transcript.page import Page


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A stretch of text, ready for the clipboard."""

    plain: str
    html: str


class Text(QLabel):
    """A text on a page."""

    def __init__(self, page: Page, parent: QWidget) -> None:
        super().__init__(parent)
        self.page = page
        self.selection = (0, 0)  # start and end, in this order
        self.found: Sequence[tuple[int, int]] = ()  # places of words that are looked for
        self.here: int | None = None  # the one of them at which the reader is
        self._hovered = ""
        self.setMouseTracking(True)
        self.setCursor(Qt.CursorShape.IBeamCursor)

    @property
    def length(self) -> int:
        """The last position."""
        raise NotImplementedError

    def position_at(self, point: QPoint) -> int:
        """The position that is nearest to a point."""
        raise NotImplementedError

    def word_at(self, position: int) -> tuple[int, int]:
        """Start and end of the word around a position."""
        raise NotImplementedError

    def paragraph_at(self, position: int) -> tuple[int, int]:
        """Start and end of the paragraph or line around a position."""
        raise NotImplementedError

    def excerpt(self, start: int, end: int) -> Excerpt:
        """What lies between two positions."""
        raise NotImplementedError

    def places(self, words: str) -> list[tuple[int, int]]:
        """Start and end of every place where `words` stand, in letters of either case."""
        raise NotImplementedError

    def spot_of(self, position: int) -> QPoint:
        """Where a position's line begins to be seen: its upper edge, at the letter."""
        raise NotImplementedError

    def link_at(self, point: QPoint) -> str:
        """Where the link at a point leads; "" if there is none."""
        return ""

    def select(self, start: int, end: int) -> None:
        """Show what lies between two positions as selected."""
        if (start, end) != self.selection:
            self.selection = (start, end)
            self.update()

    def mark(self, found: Sequence[tuple[int, int]], here: int | None) -> None:
        """Show words as found; one of the places may be where the reader is."""
        if (found, here) != (self.found, self.here):
            self.found, self.here = found, here
            self.update()

    def marks(self, first: int, last: int) -> list[tuple[int, int, QTextCharFormat]]:
        """What is painted in other colours than its own between two positions: start, end, ink."""
        start, end = self.selection
        if start >= end and not self.found:
            return []  # as of most texts, many times a second
        begin = max(bisect_left(self.found, (first, 0)) - 1, 0)
        stop = bisect_left(self.found, (last, 0))
        others, here = _found_ink(is_here=False), _found_ink(is_here=True)
        shown = [
            (*self.found[index], here if index == self.here else others)
            for index in range(begin, stop)
        ]
        return [*shown, (start, end, self._selected_ink())] if start < end else shown

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(self.link_at(event.position().toPoint()))
        event.ignore()

    def leaveEvent(self, event: QEvent) -> None:
        self._hover("")
        super().leaveEvent(event)

    def _selected_ink(self) -> QTextCharFormat:
        """Of the selection; paler in a window that has not the focus."""
        groups = QPalette.ColorGroup
        group = groups.Active if self.isActiveWindow() else groups.Inactive
        ink = QTextCharFormat()
        ink.setBackground(self.palette().brush(group, QPalette.ColorRole.Highlight))
        ink.setForeground(self.palette().brush(group, QPalette.ColorRole.HighlightedText))
        return ink

    def _hover(self, link: str) -> None:
        if link == self._hovered:
            return
        self._hovered = link
        shape = Qt.CursorShape.PointingHandCursor if link else Qt.CursorShape.IBeamCursor
        self.setCursor(shape)
        self.setToolTip(f"<qt>{html.escape(link)}</qt>" if link else "")  # never taken for HTML
        self.page.link_hovered.emit(link)


def _found_ink(*, is_here: bool) -> QTextCharFormat:
    ink = QTextCharFormat()
    ink.setBackground(theme.color(Role.FOUND_HERE if is_here else Role.FOUND))
    ink.setForeground(theme.color(Role.ON_FOUND_HERE if is_here else Role.TEXT))
    return ink
