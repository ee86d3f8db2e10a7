"""ModelButton: the model of this conversation, with its state as a small light; press to change."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QEnterEvent, QFont, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from app.ui import theme
from app.ui.engine_words import Condition
from app.ui.theme import SPACE, Role, color

_LIGHT = 2 * SPACE
_CHEVRON = 3.5 * SPACE
_WIDEST = 90 * SPACE


class ModelButton(QToolButton):
    """An outlined pill that opens a menu."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = ""
        self._condition = Condition("", Role.TERTIARY)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def set_menu_filler(self, fill: Callable[[QMenu], object]) -> None:
        """`fill` is called with the menu each time before it opens."""
        menu = QMenu(self)
        menu.aboutToShow.connect(lambda: fill(menu))
        self.setMenu(menu)

    def show_model(self, name: str, condition: Condition) -> None:
        """The model's name, and the engine's condition with regard to it."""
        self._name = name or self.tr("Choose a model")
        self._condition = condition
        self.setAccessibleName(self.tr("Model: %1").replace("%1", self._name))
        self.setAccessibleDescription(condition.text)
        self.setToolTip(condition.text)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        name = QFontMetrics(self._name_font()).horizontalAdvance(self._name)
        width = name + _LIGHT + _CHEVRON + 9 * SPACE
        return QSize(int(min(width, _WIDEST)), QFontMetrics(theme.font()).height() + 3 * SPACE)

    def minimumSizeHint(self) -> QSize:
        return QSize(30 * SPACE, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_pill(painter)
        middle = self.height() / 2
        light = QRectF(3 * SPACE, middle - _LIGHT / 2, _LIGHT, _LIGHT)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color(self._condition.light))
        painter.drawEllipse(light)
        left = light.right() + 2 * SPACE
        chevron = QRectF(self.width() - _CHEVRON - 2 * SPACE, 0, _CHEVRON, _CHEVRON)
        chevron.moveTop(middle - _CHEVRON / 2 + 0.5)
        theme.paint_icon(painter, chevron, "chevron-down", color(Role.SECONDARY))
        self._paint_name(painter, QRectF(left, 0, chevron.left() - SPACE - left, self.height()))

    def _paint_pill(self, painter: QPainter) -> None:
        pill = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        outline = QPen(color(Role.ACCENT), 2) if self.hasFocus() else QPen(color(Role.LINE))
        painter.setPen(outline)
        painter.setBrush(color(Role.HOVER if self.underMouse() or self.isDown() else Role.BASE))
        painter.drawRoundedRect(pill, theme.RADIUS_CONTROL, theme.RADIUS_CONTROL)

    def _paint_name(self, painter: QPainter, area: QRectF) -> None:
        font = self._name_font()
        shown = QFontMetrics(font).elidedText(
            self._name, Qt.TextElideMode.ElideMiddle, int(area.width()) + 1
        )
        painter.setFont(font)
        painter.setPen(color(Role.TEXT))
        painter.drawText(area, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)

    def _name_font(self) -> QFont:
        return theme.font(weight=QFont.Weight.DemiBold)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.update()
