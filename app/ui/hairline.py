"""Hairlines: what parts a window's panels, one pixel in the colour of lines."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSplitter, QSplitterHandle, QWidget

from app.ui.theme import Role, color


class HairlineSplitter(QSplitter):
    """Panels side by side; the line between them can be dragged."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setHandleWidth(1)  # Qt widens the place that can be grabbed by itself

    def createHandle(self) -> QSplitterHandle:
        return _Handle(self.orientation(), self)


class _Handle(QSplitterHandle):
    def paintEvent(self, event: QPaintEvent) -> None:
        line = self.rect()
        line.setLeft(line.center().x())
        line.setWidth(1)
        QPainter(self).fillRect(line, color(Role.LINE))


class Hairline(QWidget):
    """A line from top to bottom."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedWidth(1)

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), color(Role.LINE))
