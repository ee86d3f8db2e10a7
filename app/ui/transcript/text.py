"""Text: text that can be selected, together with the texts above and below it.

It handles no mouse button itself: `Selector` sees a drag that runs through several texts as one.
It is a QLabel without text of its own, so that assistive tools take it for static text, which
they read by its accessible name. Positions count from the text's beginning; their unit is the
subclass's own.
"""

import html
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QMouseEvent, QPalette
from PySide6.QtWidgets import QLabel, QWidget

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

    def link_at(self, point: QPoint) -> str:
        """Where the link at a point leads; "" if there is none."""
        return ""

    def select(self, start: int, end: int) -> None:
        """Show what lies between two positions as selected."""
        if (start, end) != self.selection:
            self.selection = (start, end)
            self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(self.link_at(event.position().toPoint()))
        event.ignore()

    def leaveEvent(self, event: QEvent) -> None:
        self._hover("")
        super().leaveEvent(event)

    def selection_group(self) -> QPalette.ColorGroup:
        """Whether the selection is shown as in the window that has the focus."""
        active = QPalette.ColorGroup.Active
        return active if self.isActiveWindow() else QPalette.ColorGroup.Inactive

    def _hover(self, link: str) -> None:
        if link == self._hovered:
            return
        self._hovered = link
        shape = Qt.CursorShape.PointingHandCursor if link else Qt.CursorShape.IBeamCursor
        self.setCursor(shape)
        self.setToolTip(f"<qt>{html.escape(link)}</qt>" if link else "")  # never taken for HTML
        self.page.link_hovered.emit(link)
