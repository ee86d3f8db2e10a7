"""Reading a document back: formulas as they were written, tables as tab-separated values."""

from PySide6.QtGui import (
    QTextBlock,
    QTextCursor,
    QTextDocument,
    QTextDocumentFragment,
    QTextListFormat,
    QTextTable,
)

from app.ui.transcript.formula_object import OBJECT_CHARACTER, source_of
from app.ui.transcript.ornaments import marker_of
from app.ui.transcript.text import Excerpt


def excerpt_of(cursor: QTextCursor) -> Excerpt:
    """What a cursor has selected."""
    if cursor.isNull() or not cursor.hasSelection():
        return Excerpt("", "")
    copy = QTextDocument()
    QTextCursor(copy).insertFragment(QTextDocumentFragment(cursor))
    _write_out_formulas(copy)
    plain = plain_text(copy)
    _restore_lists(copy)
    return Excerpt(plain, copy.toHtml())


def excerpt_of_whole(document: QTextDocument) -> Excerpt:
    """All of a document."""
    cursor = QTextCursor(document)
    cursor.select(QTextCursor.SelectionType.Document)
    return excerpt_of(cursor)


def spoken_text(document: QTextDocument) -> str:
    """What assistive tools read."""
    text = document.toPlainText()
    return text if OBJECT_CHARACTER not in text else excerpt_of_whole(document).plain


def plain_text(document: QTextDocument) -> str:
    """The letters of a document, cells of a row between tabs."""
    lines: list[str] = []
    block = document.begin()
    row: tuple[int, int] | None = None  # of the table's first position, and in it
    while block.isValid():
        table = QTextCursor(block).currentTable()
        here = _row_of(table, block.position())
        if here is not None and here == row:
            lines[-1] += "\t" + block.text()
        else:
            lines.append(_marker(block) + block.text())
        row = here
        block = block.next()
    return "\n".join(lines).replace("\u2028", "\n").replace("\u00a0", " ").strip("\n")


def _row_of(table: QTextTable | None, position: int) -> tuple[int, int] | None:
    if table is None:
        return None
    return table.firstPosition(), table.cellAt(position).row()


def _marker(block: QTextBlock) -> str:
    """What stands before an item of a list."""
    marker, items = marker_of(block), block.textList()
    if items is None or not marker:
        return ""
    return "  " * (items.format().indent() - 1) + marker + " "


def _restore_lists(document: QTextDocument) -> None:
    """Let rich text have the markers that are painted on the screen."""
    block = document.begin()
    while block.isValid():
        items, marker = block.textList(), marker_of(block)
        if items is not None and marker and items.item(0) == block:
            form = items.format()
            numbered = marker[0].isalnum()
            styles = QTextListFormat.Style
            form.setStyle(styles.ListDecimal if numbered else styles.ListDisc)
            items.setFormat(form)
        block = block.next()


def _write_out_formulas(document: QTextDocument) -> None:
    cursor = document.find(OBJECT_CHARACTER)
    while not cursor.isNull():
        source = source_of(cursor.charFormat())
        if source:
            cursor.insertText(source)
        cursor = document.find(OBJECT_CHARACTER, cursor)
