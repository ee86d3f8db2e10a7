"""CodeView: a card with code, the language's name, and buttons to wrap and to copy."""

from PySide6.QtCore import QPoint, QPointF, QRectF, Qt, QTimer
from PySide6.QtGui import QGuiApplication, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QWidget

from app.blocks.block import Block
from app.blocks.typesetter import InkedCode
from app.ui import theme
from app.ui.theme import Role
from app.ui.transcript.code_text import CodeText
from app.ui.transcript.copy_button import CopyButton
from app.ui.transcript.page import Page
from app.ui.transcript.piece import Piece
from app.ui.transcript.piece_view import PieceView
from app.ui.transcript.quiet_button import QuietButton
from app.ui.transcript.wide import Wide

OPEN_INK_MS = 500  # between colourings of code that is still being written
OPEN_INK_LINES = 300  # longer code is coloured when it is complete

_NAMES = {
    "cpp": "C++",
    "cs": "C#",
    "csharp": "C#",
    "css": "CSS",
    "html": "HTML",
    "javascript": "JavaScript",
    "js": "JavaScript",
    "json": "JSON",
    "md": "Markdown",
    "php": "PHP",
    "py": "Python",
    "rb": "Ruby",
    "rs": "Rust",
    "sh": "Shell",
    "sql": "SQL",
    "toml": "TOML",
    "ts": "TypeScript",
    "tsx": "TSX",
    "typescript": "TypeScript",
    "xml": "XML",
    "yaml": "YAML",
    "yml": "YAML",
    "zsh": "Shell",
}


class CodeView(PieceView):
    """A block of code."""

    def __init__(self, page: Page, parent: QWidget) -> None:
        super().__init__(page, parent)
        self._text = CodeText(page, self)
        self._wide = Wide(self._text, self)
        self.setAttribute(Qt.WidgetAttribute.WA_StaticContents)  # it grows at its end
        font = page.caption_font
        self._language = ""
        self._can_wrap = False
        self.setFont(font)
        self._wrap = QuietButton(self, text=self.tr("Wrap"), font=font)
        self._wrap.setCheckable(True)
        self._wrap.setChecked(page.wraps_code)
        self._wrap.toggled.connect(self._toggle_wrap)
        name = self.tr("Copy code")
        self._copy = CopyButton(self, name=name, text=self.tr("Copy"), font=font)
        self._copy.clicked.connect(self.copy_code)
        self._inked: InkedCode | None = None
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.timeout.connect(self._ask_for_ink)
        page.typesetter.ink_grew.connect(self._ink_grew)

    @property
    def text(self) -> CodeText:
        return self._text

    def fill(self, piece: Piece) -> None:
        block = self._block()
        self._text.set_code(block.text)
        self._language = language_name(block.language) or self.tr("Code")
        if block.closed:
            self._text.setAccessibleName(block.text)
            self._ask_for_ink()
        elif not self._later.isActive():
            self._later.start(OPEN_INK_MS)

    def fit(self, width: int) -> int:
        indent = self.page.px(6) * self._block().indent
        head, side = self._head_height(), self.page.px(3)
        inside = width - indent - 2 * side
        natural, height = self._text.fit_rows(inside if self._wrap.isChecked() else None)
        self._can_wrap = natural > inside or self._wrap.isChecked()
        top = head + self.page.px(2.5)
        shown = self._wide.fit(indent + side, top, inside, natural, height)
        return head + shown + self.page.px(5)

    def settle(self) -> None:
        self._wide.settle()
        self._wrap.setVisible(self._can_wrap)
        self._place_buttons(self.width(), self._head_height())

    def reveal(self, spot: QPoint) -> None:
        self._wide.reveal(spot)

    def copy_code(self) -> None:
        """Put the code on the clipboard."""
        QGuiApplication.clipboard().setText(self._text.code)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.oldSize().width() != self.width():
            self.update()
        edge = theme.RADIUS_CARD + 1  # the card's lower edge moved
        self.update(0, event.oldSize().height() - edge, self.width(), edge)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        card = QRectF(self.rect()).adjusted(self._left() + 0.5, 0.5, -0.5, -0.5)
        painter.setPen(QPen(theme.color(Role.LINE)))
        painter.setBrush(theme.color(Role.CODE))
        painter.drawRoundedRect(card, theme.RADIUS_CARD, theme.RADIUS_CARD)
        self._paint_head(painter, card)

    def _paint_head(self, painter: QPainter, card: QRectF) -> None:
        y = self._head_height() - 0.5
        painter.drawLine(QPointF(card.left(), y), QPointF(card.right(), y))
        painter.setPen(theme.color(Role.SECONDARY))
        head = QRectF(card.left() + self.page.px(3), 0, card.width() / 2, y)
        painter.drawText(head, Qt.AlignmentFlag.AlignVCenter, self._language)

    def _block(self) -> Block:
        assert self.piece is not None
        assert self.piece.block is not None
        return self.piece.block

    def _left(self) -> int:
        return self.page.px(6) * self._block().indent

    def _head_height(self) -> int:
        return self._copy.sizeHint().height() + self.page.px(1)

    def _place_buttons(self, width: int, head: int) -> None:
        right = width - self.page.px(1.5)
        for button in (self._copy, self._wrap):
            button.move(right - button.width(), (head - button.height()) // 2)
            right = button.x() - self.page.px(0.5)

    def _toggle_wrap(self, wrap: bool) -> None:
        self.page.wraps_code = wrap
        self.resized.emit()

    def _ask_for_ink(self) -> None:
        block = self._block()
        if not block.language or (not block.closed and self._is_too_long_to_ink()):
            return
        self._inked = self.page.typesetter.ink(block.text, block.language)
        if self._inked.lines or block.closed:
            self._text.set_ink(self._inked)

    def _is_too_long_to_ink(self) -> bool:
        return self._text.height() > OPEN_INK_LINES * self.page.code_line

    def _ink_grew(self, inked: InkedCode) -> None:
        """Colours come from the top down; what is coloured already does not flicker for them."""
        if inked is self._inked and (inked.complete or not self._text.is_inked):
            self._text.set_ink(inked)


def language_name(language: str) -> str:
    """A fence's language as people write it."""
    if language.lower() in _NAMES:
        return _NAMES[language.lower()]
    return language if language != language.lower() else language.capitalize()
