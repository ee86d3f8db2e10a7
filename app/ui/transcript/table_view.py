"""TableView: a table, which may be wider than the column; it is copied as tab-separated values."""

import math

from PySide6.QtCore import QPoint
from PySide6.QtGui import (
    QBrush,
    QFont,
    QGuiApplication,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
    QTextTableCell,
)
from PySide6.QtWidgets import QWidget

from app.ui import theme
from app.ui.theme import Role
from app.ui.transcript.copy_button import CopyButton
from app.ui.transcript.markdown import Awaited, write_markdown
from app.ui.transcript.page import Page
from app.ui.transcript.piece import Piece
from app.ui.transcript.prose_view import ProseView
from app.ui.transcript.reading import excerpt_of_whole
from app.ui.transcript.wide import Wide

_PROPORTIONAL = QTextBlockFormat.LineHeightTypes.ProportionalHeight.value
_FIXED = QTextBlockFormat.LineHeightTypes.FixedHeight.value
_SOLID = QTextFrameFormat.BorderStyle.BorderStyle_Solid
_PLAIN = QTextFrameFormat.BorderStyle.BorderStyle_None


class TableView(ProseView):
    """Rows between hairlines."""

    def __init__(self, page: Page, parent: QWidget) -> None:
        super().__init__(page, parent)
        self._wide = Wide(self._text, self)
        self._copy: CopyButton | None = None

    def fit(self, width: int) -> int:
        inside = width - self._left()
        self._text.fit(inside)
        height = math.ceil(self._text.document.size().height())
        natural = int(self._text.document.size().width() + 0.999)
        return self._wide.fit(self._left(), 0, inside, natural, height)

    def settle(self) -> None:
        self._wide.settle()
        if self._copy is not None:
            self._copy.move(self.width() - self._copy.width(), 0)

    def reveal(self, spot: QPoint) -> None:
        self._wide.reveal(spot)

    def set_active(self, active: bool) -> None:
        if active and self._copy is None:
            self._copy = CopyButton(
                self, icon="copy", name=self.tr("Copy table"), font=self.page.caption_font
            )
            self._copy.clicked.connect(self.copy_table)
            self._copy.move(self.width() - self._copy.width(), 0)
        if self._copy is not None:
            self._copy.setVisible(active)

    def copy_table(self) -> None:
        """Put the cells on the clipboard, tabs between them."""
        QGuiApplication.clipboard().setText(excerpt_of_whole(self._text.document).plain)

    def _left(self) -> int:
        assert self.piece is not None
        assert self.piece.block is not None
        return self.page.px(6) * self.piece.block.indent

    def _write(self, piece: Piece) -> list[Awaited]:
        assert piece.block is not None
        document = self._text.document
        awaited = write_markdown(document, piece.block.text, self.page, self._text.role)
        cursor = QTextCursor(document)
        cursor.beginEditBlock()
        for frame in document.rootFrame().childFrames():
            if isinstance(frame, QTextTable):
                _style_table(frame, self.page)
        _flatten_ends(document, cursor)
        cursor.endEditBlock()
        return awaited


def _style_table(table: QTextTable, page: Page) -> None:
    form = table.format()
    form.setBorder(0)
    form.setBorderStyle(_PLAIN)
    form.setBorderCollapse(True)
    form.setCellPadding(0)
    form.setCellSpacing(0)
    form.setColumnWidthConstraints([QTextLength()] * table.columns())
    table.setFormat(form)
    for row in range(table.rows()):
        for column in range(table.columns()):
            cell = table.cellAt(row, column)
            _style_cell(cell, page, is_left=column == 0, is_last=row == table.rows() - 1)
            if row == 0:
                _make_heavy(cell)


def _style_cell(cell: QTextTableCell, page: Page, *, is_left: bool, is_last: bool) -> None:
    form = cell.format().toTableCellFormat()
    form.setTopPadding(page.px(1.25))
    form.setBottomPadding(page.px(1))
    form.setLeftPadding(0 if is_left else page.px(3))
    form.setRightPadding(page.px(3))
    if not is_last:
        form.setBottomBorder(1)
        form.setBottomBorderStyle(_SOLID)
        form.setBottomBorderBrush(QBrush(theme.color(Role.LINE)))
    cell.setFormat(form)
    cursor = cell.firstCursorPosition()
    spacing = QTextBlockFormat()
    spacing.setBottomMargin(0)
    spacing.setTopMargin(0)
    spacing.setLineHeight(115, _PROPORTIONAL)
    cursor.mergeBlockFormat(spacing)


def _make_heavy(cell: QTextTableCell) -> None:
    cursor = cell.firstCursorPosition()
    cursor.setPosition(cell.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
    heavy = QTextCharFormat()
    heavy.setFontWeight(QFont.Weight.DemiBold)
    cursor.mergeCharFormat(heavy)


def _flatten_ends(document: QTextDocument, cursor: QTextCursor) -> None:
    """Make the empty paragraphs that Qt needs around a table take no room."""
    for block in (document.firstBlock(), document.lastBlock()):
        if not block.text() and QTextCursor(block).currentTable() is None:
            flat = QTextBlockFormat()
            flat.setLineHeight(1, _FIXED)
            cursor.setPosition(block.position())
            cursor.setBlockFormat(flat)
