"""Plots: small live pictures on a rounded card, painted from plain numbers.

They know nothing about engines. Each is told all its points at once and repaints; a plot that is
hidden costs nothing but the list it keeps.
"""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui import theme
from app.ui.theme import Role

HEIGHT = 21 * theme.SPACE


class Plot(QWidget):
    """The card. Subclasses paint inside `paint_points`, clipped to it."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        card = QPainterPath()
        card.addRoundedRect(area, theme.RADIUS_CONTROL, theme.RADIUS_CONTROL)
        painter.fillPath(card, theme.color(Role.CODE))
        painter.setClipPath(card)
        self.paint_points(painter, area)
        painter.setClipping(False)
        painter.strokePath(card, QPen(theme.color(Role.LINE)))

    def paint_points(self, painter: QPainter, area: QRectF) -> None:
        """Paint the data into `area`."""
        raise NotImplementedError


class StackPlot(Plot):
    """Layers of area on top of each other under a dashed limit: memory against its budget."""

    def __init__(self, name: str, roles: Sequence[Role], parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._roles = roles
        self._points: Sequence[Sequence[float]] = ()
        self._limit = 0.0

    def show_points(self, points: Sequence[Sequence[float]], limit: float) -> None:
        """`points`: for each moment one value a role; `limit`: in the same unit, 0 for none."""
        self._points = points
        self._limit = limit
        self.update()

    def paint_points(self, painter: QPainter, area: QRectF) -> None:
        top = max([self._limit, *(sum(point) for point in self._points)]) * 1.12
        if top <= 0:
            return
        below = [0.0] * len(self._points)
        for layer, role in enumerate(self._roles):
            above = [base + point[layer] for base, point in zip(below, self._points, strict=True)]
            ribbon = _line(area, above, top) + _line(area, below, top)[::-1]
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.color(role))
            painter.drawPolygon(QPolygonF(ribbon))
            below = above
        if self._limit:
            height = area.bottom() - area.height() * self._limit / top
            painter.setPen(QPen(theme.color(Role.TERTIARY), 1, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(area.left(), height), QPointF(area.right(), height))


class LinePlot(Plot):
    """One curve of values from 0 to 1."""

    def __init__(self, name: str, role: Role, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._role = role
        self._points: Sequence[float] = ()

    def show_points(self, points: Sequence[float]) -> None:
        """`points`: one value a moment, 0 to 1."""
        self._points = points
        self.update()

    def paint_points(self, painter: QPainter, area: QRectF) -> None:
        inner = area.adjusted(0, 2 * theme.SPACE, 0, -2 * theme.SPACE)
        painter.setPen(QPen(theme.color(self._role), 2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(QPolygonF(_line(inner, self._points, 1.0)))


class BarPlot(Plot):
    """Stacked bars, the latest at the right: where each token's time went."""

    BAR, GAP = 8, 4

    def __init__(self, name: str, roles: Sequence[Role], parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._roles = roles
        self._points: Sequence[Sequence[float]] = ()

    def show_points(self, points: Sequence[Sequence[float]]) -> None:
        """`points`: for each bar one value a role."""
        self._points = points
        self.update()

    def paint_points(self, painter: QPainter, area: QRectF) -> None:
        fitting = int(area.width() // (self.BAR + self.GAP))
        shown = list(self._points)[-fitting:]
        top = max((sum(point) for point in shown), default=0) * 1.15
        if top <= 0:
            return
        left = area.right() - len(shown) * (self.BAR + self.GAP) - self.GAP / 2
        for point in shown:
            left += self.GAP
            self._paint_bar(painter, QRectF(left, area.top(), self.BAR, area.height()), point, top)
            left += self.BAR

    def _paint_bar(
        self, painter: QPainter, column: QRectF, point: Sequence[float], top: float
    ) -> None:
        bottom = column.bottom()
        for value, role in zip(point, self._roles, strict=True):
            height = column.height() * value / top
            bar = QRectF(column.left(), bottom - height, column.width(), height)
            painter.fillRect(bar, theme.color(role))
            bottom -= height


class ShareBar(QWidget):
    """A thin bar cut into shares of a whole; what is left over is shown as free."""

    def __init__(self, name: str, roles: Sequence[Role], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self._roles = roles
        self._values: Sequence[float] = ()
        self._whole = 0.0

    def show_shares(self, values: Sequence[float], whole: float) -> None:
        """`values`: one a role; `whole`: what they are shares of, in the same unit."""
        self._values = values
        self._whole = max(whole, sum(values))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(42 * theme.SPACE, 2 * theme.SPACE)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(0, (self.height() - 8) / 2, self.width(), 8)
        shape = QPainterPath()
        shape.addRoundedRect(area, 4, 4)
        painter.setClipPath(shape)
        painter.fillRect(area, theme.color(Role.FREE))
        left = area.left()
        for value, role in zip(self._values, self._roles, strict=False):
            width = area.width() * value / self._whole if self._whole else 0
            painter.fillRect(QRectF(left, area.top(), width, area.height()), theme.color(role))
            left += width


class Legend(QWidget):
    """Names beside squares of their colours."""

    SQUARE = 2 * theme.SPACE

    def __init__(self, entries: Sequence[tuple[str, Role]], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._entries = entries
        self.setAccessibleName(", ".join(name for name, _ in entries))
        self.setFont(theme.font(theme.CAPTION))
        self.setFixedHeight(self.fontMetrics().height() + theme.SPACE)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        left = 0
        for name, role in self._entries:
            self._paint_square(painter, left, theme.color(role))
            left += self.SQUARE + theme.SPACE
            painter.setPen(theme.color(Role.SECONDARY))
            painter.drawText(self.rect().adjusted(left, 0, 0, 0), _CENTRED, name)
            left += self.fontMetrics().horizontalAdvance(name) + 3 * theme.SPACE

    def _paint_square(self, painter: QPainter, left: int, ink: QColor) -> None:
        square = QRectF(left, (self.height() - self.SQUARE) / 2, self.SQUARE, self.SQUARE)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink)
        painter.drawRoundedRect(square, 2, 2)


_CENTRED = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


def _line(area: QRectF, values: Sequence[float], top: float) -> list[QPointF]:
    """The values spread over the width of `area`, `top` at its upper edge."""
    step = area.width() / max(len(values) - 1, 1)
    return [
        QPointF(area.left() + index * step, area.bottom() - area.height() * value / top)
        for index, value in enumerate(values)
    ]
