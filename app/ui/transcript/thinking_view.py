"""ThinkingView: one line that says how long the model thought, and unfolds what it thought."""

from time import monotonic

from PySide6.QtCore import QCoreApplication, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.ui import figures, theme
from app.ui.theme import Role
from app.ui.transcript.page import Page
from app.ui.transcript.piece import Piece
from app.ui.transcript.piece_view import ActingView
from app.ui.transcript.turn_action import TurnAction

translate = QCoreApplication.translate


class ThinkingView(ActingView):
    """The fold. While the model thinks, it shows the last sentence that is finished."""

    def __init__(self, page: Page, parent: QWidget) -> None:
        super().__init__(page, parent)
        self._fold = _Fold(page, self)
        self._fold.clicked.connect(lambda: self.acted.emit(TurnAction.FOLD))
        self._seconds = QTimer(self)
        self._seconds.setInterval(1000)
        self._seconds.timeout.connect(self._show_words)

    def fill(self, piece: Piece) -> None:
        if piece.since is None:
            self._seconds.stop()
        elif not self._seconds.isActive():
            self._seconds.start()
        self._show_words()

    def fit(self, width: int) -> int:
        height = self._fold.sizeHint().height()
        self._fold.setGeometry(0, 0, width, height)
        return height

    def _show_words(self) -> None:
        if self.piece is not None:
            detail = "" if self.piece.is_open else self.piece.text
            self._fold.show_words(thinking_words(self.piece), detail, is_open=self.piece.is_open)


class _Fold(QAbstractButton):
    """A chevron, the words, and what is being thought."""

    def __init__(self, page: Page, parent: QWidget) -> None:
        super().__init__(parent)
        self._is_open = False
        self._detail = ""
        self.setFont(page.caption_font)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def show_words(self, words: str, detail: str, *, is_open: bool) -> None:
        self._is_open, self._detail = is_open, detail
        self.setText(words)
        action = self.tr("Hide the thinking") if is_open else self.tr("Show the thinking")
        self.setAccessibleName(words)
        self.setAccessibleDescription(action)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(0, QFontMetrics(self.font()).height() + 2 * theme.SPACE)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self.font())
        metrics = QFontMetrics(self.font())
        side = metrics.height() * 0.8
        chevron = "chevron-down" if self._is_open else "chevron-right"
        spot = QRectF(-side * 0.25, (self.height() - side) / 2, side, side)
        ink = theme.color(Role.TEXT if self.underMouse() else Role.SECONDARY)
        theme.paint_icon(painter, spot, chevron, ink)
        self._paint_words(painter, metrics, spot.right() + theme.SPACE, ink)
        if self.hasFocus():
            self._paint_focus(painter, metrics)

    def _paint_words(self, painter: QPainter, metrics: QFontMetrics, x: float, ink: QColor) -> None:
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.setPen(ink)
        painter.drawText(QRectF(x, 0, self.width() - x, self.height()), middle, self.text())
        x += metrics.horizontalAdvance(self.text()) + 2 * theme.SPACE
        room = QRectF(x, 0, max(self.width() - x, 0), self.height())
        detail = metrics.elidedText(self._detail, Qt.TextElideMode.ElideRight, int(room.width()))
        painter.setPen(theme.color(Role.TERTIARY))
        painter.drawText(room, middle, detail)

    def _paint_focus(self, painter: QPainter, metrics: QFontMetrics) -> None:
        painter.setPen(QPen(theme.color(Role.ACCENT), 2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        width = metrics.horizontalAdvance(self.text()) + metrics.height() + 3 * theme.SPACE
        area = QRectF(1, 1, min(width, self.width() - 2), self.height() - 2)
        painter.drawRoundedRect(area, theme.RADIUS_CONTROL, theme.RADIUS_CONTROL)


def thinking_words(piece: Piece) -> str:
    """What the fold says."""
    if piece.since is not None:
        return translate("thinking", "Thinking for %1").replace(
            "%1", _seconds(monotonic() - piece.since)
        )
    message = piece.message
    if message is not None and not message.settled and piece.seconds is None:
        return translate("thinking", "Thinking")
    words = (
        translate("thinking", "Thought")
        if piece.seconds is None
        else translate("thinking", "Thought for %1")
    )
    words = words.replace("%1", _seconds(piece.seconds or 0))
    return (
        translate("thinking", "%1, not finished").replace("%1", words)
        if piece.is_unfinished
        else words
    )


def _seconds(seconds: float) -> str:
    """`12 s`, or `2 min 5 s`."""
    whole = max(round(seconds), 1)
    if whole < 60:
        return translate("thinking", "%1 s").replace("%1", figures.count(whole))
    minutes, rest = divmod(whole, 60)
    words = translate("thinking", "%1 min %2 s").replace("%1", figures.count(minutes))
    return words.replace("%2", figures.count(rest))
