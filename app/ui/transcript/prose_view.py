"""ProseView and MathView: running text of an answer, and formulas that are set apart."""

from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtGui import QTextBlockFormat, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from app.blocks.math_span import MathSpan
from app.ui import theme
from app.ui.theme import Role
from app.ui.transcript.document_text import DocumentText
from app.ui.transcript.markdown import Awaited, draw_awaited, put_formula, write_markdown
from app.ui.transcript.page import Page
from app.ui.transcript.piece import Piece
from app.ui.transcript.piece_view import PieceView
from app.ui.transcript.reading import spoken_text
from app.ui.transcript.wide import Wide


class ProseView(PieceView):
    """A stretch of Markdown without code, tables and formulas set apart."""

    def __init__(self, page: Page, parent: QWidget) -> None:
        super().__init__(page, parent)
        self._text = DocumentText(page, self)
        self._room = QSize()
        self._awaited: list[Awaited] = []
        self._listens = False  # for formulas: few texts have any
        page.formulas.attach(self._text.document)

    @property
    def text(self) -> DocumentText:
        return self._text

    def fill(self, piece: Piece) -> None:
        self._text.role = Role.SECONDARY if piece.is_quiet else Role.TEXT
        self._text.caret = piece.is_open
        self._awaited = self._write(piece)
        if self._awaited and not self._listens:
            self._listens = True
            self.page.typesetter.formulas_changed.connect(self._formulas_changed)
        self._written()

    def fit(self, width: int) -> int:
        self._room = QSize(width, self._text.fit(width))
        return self._room.height()

    def settle(self) -> None:
        self._text.resize(self._room)

    def _write(self, piece: Piece) -> list[Awaited]:
        """Fill the document; the formulas whose drawings are still being made."""
        assert piece.block is not None
        return write_markdown(self._text.document, piece.block.text, self.page, self._text.role)

    def _written(self) -> None:
        """The document reads otherwise now."""
        self._text.update()
        if self.piece is not None and not self.piece.is_open:
            self.page.chores.add((self, "name"), self._say)

    def _say(self) -> None:
        """Let assistive tools read it; that can wait, and takes long where formulas are many."""
        if isValid(self):
            self._text.setAccessibleName(spoken_text(self._text.document))

    def _formulas_changed(self) -> None:
        if self._awaited:
            self.page.chores.add(self, self._show_formulas)

    def _show_formulas(self) -> None:
        if not isValid(self):
            return
        before = len(self._awaited)
        self._awaited = self._draw_awaited()
        if len(self._awaited) < before:
            self._written()
            self.resized.emit()

    def _draw_awaited(self) -> list[Awaited]:
        """Show the drawings that were made since; what is awaited still."""
        return draw_awaited(self._awaited, self.page, self._text.role)


class MathView(ProseView):
    """A formula in the middle of the column; its source while, or because, it is not drawn."""

    def __init__(self, page: Page, parent: QWidget) -> None:
        super().__init__(page, parent)
        self._wide = Wide(self._text, self)

    def fit(self, width: int) -> int:
        height = self._text.fit(width)
        natural = int(self._text.document.idealWidth() + 0.999)
        return self._wide.fit(0, 0, width, natural, height)

    def settle(self) -> None:
        self._wide.settle()

    def reveal(self, spot: QPoint) -> None:
        self._wide.reveal(spot)

    def _write(self, piece: Piece) -> list[Awaited]:
        assert piece.block is not None
        latex = piece.block.text.strip()
        self._text.document.clear()
        cursor = QTextCursor(self._text.document)
        middle = QTextBlockFormat()
        middle.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        cursor.setBlockFormat(middle)
        span = MathSpan(latex, f"$$\n{latex}\n$$", display=True)
        if not piece.is_open and put_formula(cursor, span, self.page, self._text.role):
            return []
        form = QTextCharFormat()
        form.setFontFamilies(self.page.code_font.families())
        form.setForeground(theme.color(Role.SECONDARY))
        cursor.insertText(piece.block.text.strip(), form)
        waits = not piece.is_open and self.page.typesetter.waits_for(latex, display=True)
        return [Awaited(span, cursor, len(latex))] if waits else []

    def _draw_awaited(self) -> list[Awaited]:
        assert self.piece is not None
        waits = self.page.typesetter.waits_for
        is_made = not any(waits(a.span.latex, display=True) for a in self._awaited)
        return self._write(self.piece) if is_made else self._awaited
