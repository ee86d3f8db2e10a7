"""Thin scroll bars where the desktop's are heavy. A Mac's own are thin already and are kept."""

import sys

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractScrollArea, QScrollBar, QStyle, QStyleOptionSlider

from app.ui.color import mix
from app.ui.theme import SPACE, Role, color

WIDTH = 2.5 * SPACE


def use_thin_scroll_bar(area: QAbstractScrollArea) -> None:
    """Give `area` a thin vertical bar. Before its bar is connected to anything."""
    if sys.platform != "darwin":
        area.setVerticalScrollBar(ThinScrollBar(Qt.Orientation.Vertical))


class ThinScrollBar(QScrollBar):
    """A rounded handle and nothing else."""

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        if self.orientation() == Qt.Orientation.Horizontal:
            return QSize(hint.width(), int(WIDTH))
        return QSize(int(WIDTH), hint.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        slider = self.style().subControlRect(
            QStyle.ComplexControl.CC_ScrollBar,
            option,
            QStyle.SubControl.SC_ScrollBarSlider,
            self,
        )
        handle = QRectF(slider).adjusted(2, 2, -3, -3)
        strength = 0.55 if self.isSliderDown() or self.underMouse() else 0.3
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(mix(color(Role.SIDEBAR), color(Role.TEXT), strength))
        radius = min(handle.width(), handle.height()) / 2
        painter.drawRoundedRect(handle, radius, radius)
