"""The composer's own buttons: round ones that send and stop, and the pill that lets it think."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.ui import theme
from app.ui.color import mix
from app.ui.theme import SPACE, Role

ROUND = 7 * SPACE


class RoundButton(QAbstractButton):
    """An icon on a disc: filled for what is likely to be done next, else outlined."""

    def __init__(self, icon: str, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icon = icon
        self._is_filled = True
        self.setFixedSize(ROUND, ROUND)
        self.setAccessibleName(name)
        self.setToolTip(name)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def set_filled(self, filled: bool) -> None:
        """Whether it is the one that is likely to be pressed."""
        self._is_filled = filled
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        disc = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        ground, edge, ink = self._colors()
        painter.setPen(QPen(theme.color(Role.TEXT), 2) if self.hasFocus() else QPen(edge))
        painter.setBrush(ground)
        painter.drawEllipse(disc)
        inset = disc.width() * 0.2
        theme.paint_icon(painter, disc.adjusted(inset, inset, -inset, -inset), self._icon, ink)

    def _colors(self) -> tuple[QColor, QColor, QColor]:
        """Of the disc, its edge, and the icon."""
        ground = theme.color(Role.CODE)
        if not self.isEnabled():
            grey = theme.color(Role.LINE)
            return grey, grey, theme.color(Role.BASE)
        if not self._is_filled:
            hover = theme.color(Role.HOVER) if self.underMouse() else ground
            return hover, theme.color(Role.LINE), theme.color(Role.TEXT)
        accent = theme.color(Role.ACCENT)
        if self.isDown() or self.underMouse():
            accent = mix(accent, theme.color(Role.TEXT), 0.2 if self.isDown() else 0.08)
        return accent, accent, theme.color(Role.ON_ACCENT)


class Pill(QAbstractButton):
    """A word that is on or off."""

    def __init__(self, text: str, icon: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icon = icon
        self.setText(text)
        self.setAccessibleName(text)
        self.setCheckable(True)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self._font())
        width = metrics.horizontalAdvance(self.text()) + metrics.height() + 6 * SPACE
        return QSize(width, ROUND - SPACE)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._font())
        area = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        self._paint_ground(painter, area)
        ink = theme.color(Role.LINK if self.isChecked() else Role.SECONDARY)
        side = painter.fontMetrics().height()
        spot = QRectF(2 * SPACE, (self.height() - side) / 2, side, side)
        theme.paint_icon(painter, spot, self._icon, ink)
        painter.setPen(ink)
        room = QRectF(spot.right() + 1.5 * SPACE, 0, self.width(), self.height())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, self.text())

    def _paint_ground(self, painter: QPainter, area: QRectF) -> None:
        radius = theme.RADIUS_CONTROL
        painter.setPen(Qt.PenStyle.NoPen)
        if self.isChecked() or self.underMouse():
            painter.setBrush(theme.color(Role.BUBBLE if self.isChecked() else Role.HOVER))
            painter.drawRoundedRect(area, radius, radius)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.color(Role.ACCENT), 2))
            painter.drawRoundedRect(area, radius, radius)

    def _font(self) -> QFont:
        return theme.font(theme.CAPTION, weight=QFont.Weight.Medium)
