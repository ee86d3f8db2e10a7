"""ProgressView: what an answer waits for, before its first word: one calm line."""

from PySide6.QtCore import QCoreApplication, QRectF, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.conversation import Activity
from app.ui import figures, theme
from app.ui.theme import Role
from app.ui.transcript.page import Page
from app.ui.transcript.piece import Piece
from app.ui.transcript.piece_view import PieceView

translate = QCoreApplication.translate

_BAR_WIDTH = 160  # px
_BAR_HEIGHT = 3


class ProgressView(PieceView):
    """Words, and a thin bar where it is known how much is done."""

    def __init__(self, page: Page, parent: QWidget) -> None:
        super().__init__(page, parent)
        self.setFont(theme.font(tabular=True, scale=page.scale))
        self._words = ""
        self._fraction: float | None = None

    def fill(self, piece: Piece) -> None:
        self._words = progress_words(piece.activity)
        self._fraction = progress_fraction(piece.activity)
        self.setAccessibleName(self._words)
        self.update()

    def fit(self, width: int) -> int:
        return self._line() + self.page.px(2.5)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(theme.color(Role.SECONDARY))
        line = QRectF(0, 0, self.width(), self._line())
        painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, self._words)
        if self._fraction is not None:
            self._paint_bar(painter, line.bottom() + self.page.px(1), self._fraction)

    def _paint_bar(self, painter: QPainter, top: float, fraction: float) -> None:
        bar = QRectF(0, top, _BAR_WIDTH, _BAR_HEIGHT)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color(Role.LINE))
        painter.drawRoundedRect(bar, _BAR_HEIGHT / 2, _BAR_HEIGHT / 2)
        bar.setWidth(max(bar.width() * fraction, _BAR_HEIGHT))
        painter.setBrush(theme.color(Role.ACCENT))
        painter.drawRoundedRect(bar, _BAR_HEIGHT / 2, _BAR_HEIGHT / 2)

    def _line(self) -> int:
        return QFontMetrics(self.font()).height() + self.page.px(1)


def progress_words(activity: Activity | None) -> str:
    """What is said of an answer that has no words yet."""
    phase = activity.phase if activity else "queued"
    if activity is None or phase == "idle":
        return translate("progress", "Waiting")
    if phase == "queued":
        return _waiting(activity.place)
    if phase == "loading":
        words = translate("progress", "Loading the model %1")
        return words.replace("%1", figures.share(activity.load_fraction))
    if phase == "reading" and activity.prompt_total:
        words = translate("progress", "Reading prompt %1 (%2 of %3 tokens)")
        words = words.replace("%1", figures.share(activity.prompt_done / activity.prompt_total))
        words = words.replace("%2", figures.count(activity.prompt_done))
        return words.replace("%3", figures.count(activity.prompt_total))
    if phase == "thinking":
        return translate("progress", "Thinking")
    if phase == "stopping":
        return translate("progress", "Stopping")
    if phase == "answering":
        return translate("progress", "Answering")
    return translate("progress", "Reading prompt")


def progress_fraction(activity: Activity | None) -> float | None:
    """How much is done, 0 to 1; None where nobody knows."""
    if activity is None:
        return None
    if activity.phase == "loading":
        return activity.load_fraction
    if activity.phase == "reading" and activity.prompt_total:
        return activity.prompt_done / activity.prompt_total
    return None


def _waiting(place: int) -> str:
    if place <= 1:
        return translate("progress", "Waiting: next in line")
    return translate("progress", "Waiting: %1 answers before this one").replace(
        "%1", figures.count(place)
    )
