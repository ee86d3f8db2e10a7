"""DocumentText: a QTextDocument as a Text. Positions are the document's."""

import math
from typing import cast

from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QImage,
    QPainter,
    QPaintEvent,
    QPalette,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextOption,
)
from PySide6.QtWidgets import QWidget

from app.blocks.readable import places_of
from app.ui import theme
from app.ui.theme import Role
from app.ui.transcript.ornaments import paint_ornaments
from app.ui.transcript.page import Page
from app.ui.transcript.reading import excerpt_of
from app.ui.transcript.text import Excerpt, Text

FIRST_OF_TWO_UNITS = "\U00010000"  # letters from here on take two positions of a document
QUOTE_STEP = 4  # steps of the spacing, that a quotation is indented


class SealedDocument(QTextDocument):
    """A document that loads nothing, whatever its text names.

    Every resource is a picture of one clear pixel: were there none, Qt would itself look for a
    file of that name.
    """

    def loadResource(self, type: int, name: object) -> object:
        blank = QImage(1, 1, QImage.Format.Format_ARGB32_Premultiplied)
        blank.fill(Qt.GlobalColor.transparent)
        return blank


class DocumentText(Text):
    """Paints a document; subclasses fill it."""

    def __init__(self, page: Page, parent: QWidget) -> None:
        super().__init__(page, parent)
        self.document = SealedDocument(self)
        self.document.setUndoRedoEnabled(False)
        self.document.setDocumentMargin(0)
        self.document.setDefaultFont(page.reading_font)
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.document.setDefaultTextOption(option)
        self.role = Role.TEXT
        self.caret = False  # a mark after the last letter: more is coming

    def fit(self, width: int) -> int:
        """Break the lines at a width; the height in pixels."""
        if self.document.textWidth() != width:
            self.document.setTextWidth(width)
        return math.ceil(self.document.size().height() - self._room_below())

    def _room_below(self) -> float:
        """Pixels that Qt's line spacing leaves under the last line."""
        block = self.document.lastBlock()
        layout = block.layout()
        if not layout.lineCount():
            return 0
        line = layout.lineAt(layout.lineCount() - 1)
        rect = self.document.documentLayout().blockBoundingRect(block)
        end = rect.top() + line.y() + line.height()
        return max(self.document.size().height() - end, 0)

    @property
    def length(self) -> int:
        return self.document.characterCount() - 1

    def position_at(self, point: QPoint) -> int:
        layout = self.document.documentLayout()
        return max(layout.hitTest(QPointF(point), Qt.HitTestAccuracy.FuzzyHit), 0)

    def word_at(self, position: int) -> tuple[int, int]:
        return self._around(position, QTextCursor.SelectionType.WordUnderCursor)

    def paragraph_at(self, position: int) -> tuple[int, int]:
        return self._around(position, QTextCursor.SelectionType.BlockUnderCursor)

    def excerpt(self, start: int, end: int) -> Excerpt:
        return excerpt_of(self.cursor_over(start, end))

    def places(self, words: str) -> list[tuple[int, int]]:
        text = self.document.toPlainText()
        found = places_of(words, text)
        if text.isascii() or max(text) < FIRST_OF_TWO_UNITS:
            return list(found)
        return [(_units(text[:start]), _units(text[:end])) for start, end in found]

    def spot_of(self, position: int) -> QPoint:
        block = self.document.findBlock(position)
        line = block.layout().lineForTextPosition(position - block.position())
        origin = self.document.documentLayout().blockBoundingRect(block).topLeft()
        if not line.isValid():
            return origin.toPoint()
        x = cast("tuple[float, int]", line.cursorToX(position - block.position()))[0]
        return QPointF(origin.x() + x, origin.y() + line.y()).toPoint()

    def link_at(self, point: QPoint) -> str:
        return self.document.documentLayout().anchorAt(QPointF(point))

    def cursor_over(self, start: int, end: int) -> QTextCursor:
        cursor = QTextCursor(self.document)
        cursor.setPosition(min(start, self.length))
        cursor.setPosition(min(end, self.length), QTextCursor.MoveMode.KeepAnchor)
        return cursor

    def _around(self, position: int, what: QTextCursor.SelectionType) -> tuple[int, int]:
        cursor = self.cursor_over(position, position)
        cursor.select(what)
        start = cursor.selectionStart()
        if what == QTextCursor.SelectionType.BlockUnderCursor:
            start = cursor.block().position()
        return start, cursor.selectionEnd()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        context = QAbstractTextDocumentLayout.PaintContext()
        context.palette = self.palette()
        context.palette.setColor(QPalette.ColorRole.Text, theme.color(self.role))
        context.clip = QRectF(event.rect())
        context.selections = [self._shown(*mark) for mark in self.marks(0, self.length)]
        step = self.page.px(QUOTE_STEP)
        paint_ornaments(painter, self.document, context.clip, step, self.role)
        self.document.documentLayout().draw(painter, context)
        if self.caret:
            self._paint_caret(painter)

    def _shown(
        self, start: int, end: int, ink: QTextCharFormat
    ) -> QAbstractTextDocumentLayout.Selection:
        shown = QAbstractTextDocumentLayout.Selection()
        shown.cursor = self.cursor_over(start, end)
        shown.format = ink
        return shown

    def _paint_caret(self, painter: QPainter) -> None:
        block = self.document.lastBlock()
        line = block.layout().lineForTextPosition(block.length() - 1)
        if not line.isValid():
            return
        origin = self.document.documentLayout().blockBoundingRect(block).topLeft()
        x = cast("tuple[float, int]", line.cursorToX(block.length() - 1))[0]  # its stub is wrong
        em = self.page.em
        bottom = origin.y() + line.y() + line.height() - line.descent()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color(Role.ACCENT))
        painter.drawRoundedRect(QRectF(origin.x() + x + 2, bottom - em * 0.8, 3, em), 1.5, 1.5)


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
