"""QuietButton: a small button without a frame, for actions that should not call for attention."""

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.ui import theme
from app.ui.theme import Role


class QuietButton(QAbstractButton):
    """Shows an icon, or a word, or both. A word alone names it; an icon needs `name`."""

    def __init__(
        self,
        parent: QWidget,
        *,
        icon: str = "",
        text: str = "",
        name: str = "",
        font: QFont | None = None,
    ) -> None:
        super().__init__(parent)
        self._icon = icon
        self._label = text
        self.setFont(font or theme.font(theme.CAPTION))
        self.setAccessibleName(name or text)
        if name:
            self.setToolTip(name)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.adjustSize()

    def show_label(self, icon: str, text: str) -> None:
        """Another icon and word; the name stays."""
        self._icon, self._label = icon, text
        self.update()

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        width = metrics.horizontalAdvance(self._label) + 3 * theme.SPACE if self._label else 0
        side = metrics.height() + 2 * theme.SPACE
        return QSize(width + (self._icon_side() + theme.SPACE if self._icon else 0), side)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_ground(painter)
        ink = theme.color(self._role())
        x = theme.SPACE * (0.5 if self._icon else 1.5)
        if self._icon:
            side = self._icon_side()
            where = QPointF(x, (self.height() - side) / 2)
            theme.paint_icon(painter, QRectF(where, QSize(side, side)), self._icon, ink)
            x += side + theme.SPACE
        painter.setPen(ink)
        painter.setFont(self.font())
        area = QRectF(x, 0, self.width() - x, self.height())
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, self._label)

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.PaletteChange:
            self.update()
        super().changeEvent(event)

    def _role(self) -> Role:
        if self.isChecked():
            return Role.LINK
        return Role.TEXT if self.underMouse() and self.isEnabled() else Role.TERTIARY

    def _paint_ground(self, painter: QPainter) -> None:
        area = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        radius = theme.RADIUS_CONTROL - 2
        if self.isDown() or (self.underMouse() and self.isEnabled()):
            ground = theme.color(Role.SELECTED if self.isDown() else Role.HOVER)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(ground)
            painter.drawRoundedRect(area, radius, radius)
        if self.hasFocus():
            painter.setPen(QPen(theme.color(Role.ACCENT), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(area, radius, radius)

    def _icon_side(self) -> int:
        return QFontMetrics(self.font()).height()
