"""EndButton: a round button that takes the transcript back to its end."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.ui import theme
from app.ui.theme import Role

SIDE = 9 * theme.SPACE


class EndButton(QAbstractButton):
    """Shown while the end is out of sight."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFixedSize(SIDE, SIDE)
        self.setAccessibleName(self.tr("Go to the end"))
        self.setToolTip(self.tr("Go to the end"))
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.hide()

    def sizeHint(self) -> QSize:
        return QSize(SIDE, SIDE)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        circle = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        painter.setBrush(theme.color(Role.BASE))
        if self.underMouse():
            painter.setBrush(theme.color(Role.HOVER))
        ring = Role.ACCENT if self.hasFocus() else Role.LINE
        painter.setPen(QPen(theme.color(ring), 2 if self.hasFocus() else 1))
        painter.drawEllipse(circle)
        inset = SIDE * 0.25
        spot = circle.adjusted(inset, inset, -inset, -inset)
        theme.paint_icon(painter, spot, "arrow-down", theme.color(Role.SECONDARY))
