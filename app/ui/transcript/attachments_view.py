"""AttachmentsView: the files of a person's turn, by their names, above the bubble."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.ui import theme
from app.ui.theme import Role
from app.ui.transcript.page import Page
from app.ui.transcript.piece import Piece
from app.ui.transcript.piece_view import PieceView

WIDEST = 260  # px of one name


class AttachmentsView(PieceView):
    """Chips in rows that end at the right."""

    def __init__(self, page: Page, parent: QWidget) -> None:
        super().__init__(page, parent)
        self._chips: list[QWidget] = []

    def fill(self, piece: Piece) -> None:
        for chip in self._chips:
            chip.deleteLater()
        self._chips = [FileChip(file.name, self.page, self) for file in piece.files]

    def fit(self, width: int) -> int:
        gap = self.page.px(1.5)
        x, y = width, 0
        for chip in reversed(self._chips):
            hint = chip.sizeHint()
            if x - hint.width() < 0 and x < width:
                x, y = width, y + hint.height() + gap
            chip.setGeometry(max(x - hint.width(), 0), y, hint.width(), hint.height())
            chip.show()
            x -= hint.width() + gap
        return y + (self._chips[0].sizeHint().height() if self._chips else 0)


class FileChip(QWidget):
    """A file's name on the ground of a person's words."""

    def __init__(self, name: str, page: Page, parent: QWidget) -> None:
        super().__init__(parent)
        self._name = name
        self.setFont(page.caption_font)
        self.setAccessibleName(self.tr("Attached file %1").replace("%1", name))

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        width = min(metrics.horizontalAdvance(self._name), WIDEST)
        return QSize(width + metrics.height() + 6 * theme.SPACE, metrics.height() + 3 * theme.SPACE)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color(Role.BUBBLE))
        radius = theme.RADIUS_CARD
        painter.drawRoundedRect(QRectF(self.rect()), radius, radius)
        metrics = QFontMetrics(self.font())
        side = metrics.height()
        spot = QRectF(2 * theme.SPACE, (self.height() - side) / 2, side, side)
        theme.paint_icon(painter, spot, "attach", theme.color(Role.SECONDARY))
        painter.setPen(theme.color(Role.TEXT))
        left = spot.right() + theme.SPACE
        area = QRectF(left, 0, self.width() - left - 2 * theme.SPACE, self.height())
        shown = metrics.elidedText(self._name, Qt.TextElideMode.ElideMiddle, int(area.width()) + 1)
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, shown)
