"""SideScroll: lets a text that is wider than the column be moved sideways, and only sideways."""

import sys

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette, QWheelEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QStyle, QWidget

from app.ui.scroll_bar import ThinScrollBar
from app.ui.transcript.text import Text


class SideScroll(QScrollArea):
    """Shows a text whole in height; wheel turns up and down are left to the transcript."""

    def __init__(self, text: Text, parent: QWidget) -> None:
        super().__init__(parent)
        if sys.platform != "darwin":
            self.setHorizontalScrollBar(ThinScrollBar(Qt.Orientation.Horizontal))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(text)
        for surface in (self, self.viewport(), text):
            surface.setAutoFillBackground(False)
            surface.setBackgroundRole(QPalette.ColorRole.NoRole)

    def height_for(self, text_width: int, text_height: int, width: int) -> int:
        """Pixels that a text of this size needs in a column of this width."""
        return text_height + (self._bar_height() if text_width > width else 0)

    def wheelEvent(self, event: QWheelEvent) -> None:
        delta = event.angleDelta()
        if abs(delta.x()) > abs(delta.y()) and self.horizontalScrollBar().maximum() > 0:
            super().wheelEvent(event)
        else:
            event.ignore()

    def _bar_height(self) -> int:
        bar = self.horizontalScrollBar()
        if bar.style().styleHint(QStyle.StyleHint.SH_ScrollBar_Transient, None, bar):
            return 0
        return bar.sizeHint().height()
