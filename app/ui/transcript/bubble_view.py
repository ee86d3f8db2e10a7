"""BubbleView: a person's words, verbatim, in a tinted bubble at the right."""

from PySide6.QtCore import QRectF
from PySide6.QtGui import (
    QPainter,
    QPainterPath,
    QPaintEvent,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import QWidget

from app.blocks.line import FENCE
from app.ui import theme
from app.ui.theme import Role
from app.ui.transcript.document_text import DocumentText
from app.ui.transcript.page import Page
from app.ui.transcript.piece import Piece
from app.ui.transcript.piece_view import PieceView

WIDEST = 0.84  # of the column

_PROPORTIONAL = QTextBlockFormat.LineHeightTypes.ProportionalHeight.value
_LINE_HEIGHT = 140


class BubbleView(PieceView):
    """A stretch of a person's turn; a long turn has several, which make one bubble."""

    def __init__(self, page: Page, parent: QWidget) -> None:
        super().__init__(page, parent)
        self._text = DocumentText(page, self)

    @property
    def text(self) -> DocumentText:
        return self._text

    def fill(self, piece: Piece) -> None:
        document = self._text.document
        document.setPlainText(piece.text)
        cursor = QTextCursor(document)
        cursor.select(QTextCursor.SelectionType.Document)
        spacing = QTextBlockFormat()
        spacing.setLineHeight(_LINE_HEIGHT, _PROPORTIONAL)
        cursor.mergeBlockFormat(spacing)
        if "```" in piece.text or "~~~" in piece.text:
            _set_fenced_lines(document, self.page)
        self._text.setAccessibleName(piece.text)

    def fit(self, width: int) -> int:
        assert self.piece is not None
        side, edge = self.page.px(3.5), self.page.px(2)
        widest = int(width * WIDEST) - 2 * side
        self._text.fit(widest)
        is_part = not (self.piece.is_first and self.piece.is_last)
        natural = widest if is_part else min(int(self._text.document.idealWidth() + 1), widest)
        height = self._text.fit(natural)
        above = edge if self.piece.is_first else 0
        below = edge if self.piece.is_last else 0
        self._text.setGeometry(width - side - natural, above, natural, height)
        self.update()
        return above + height + below

    def paintEvent(self, event: QPaintEvent) -> None:
        assert self.piece is not None
        side = self.page.px(3.5)
        left = self._text.x() - side
        area = QRectF(left, 0, self.width() - left, self.height())
        radius = theme.RADIUS_BUBBLE
        path = QPainterPath()
        path.addRoundedRect(
            area.adjusted(
                0, 0 if self.piece.is_first else -radius, 0, 0 if self.piece.is_last else radius
            ),
            radius,
            radius,
        )
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillPath(path, theme.color(Role.BUBBLE))


def _set_fenced_lines(document: QTextDocument, page: Page) -> None:
    """Set the lines between code fences in the font of code."""
    form = QTextCharFormat()
    form.setFontFamilies(page.code_font.families())
    form.setFontPointSize(page.code_font.pointSizeF())
    inside = False
    block = document.begin()
    while block.isValid():
        is_fence = bool(FENCE.match(block.text().rstrip()))
        if inside or is_fence:
            _set_line(block, form)
        inside ^= is_fence
        block = block.next()


def _set_line(block: QTextBlock, form: QTextCharFormat) -> None:
    cursor = QTextCursor(block)
    cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
    cursor.mergeCharFormat(form)
