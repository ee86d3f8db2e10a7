"""Guesses of heights, for what was not laid out yet: cheap, and near enough for the scroll bar."""

from app.conversation import Message
from app.ui import theme
from app.ui.transcript.page import Page
from app.ui.transcript.piece import Piece, PieceKind

_LETTER = 0.5  # mean width of a letter, in sizes of the font
_ROW = 1.6  # height of a table's row, the same


def turn_height(message: Message, width: int, page: Page) -> int:
    """Pixels of a message that was not cut into pieces."""
    return 4 * page.em + _prose(message.text, width, page)


def piece_height(piece: Piece, width: int, page: Page) -> int:
    """Pixels of a piece that has no widget."""
    text = piece.block.text if piece.block else piece.text
    if piece.kind is PieceKind.CODE:
        return page.px(16) + (text.count("\n") + 1) * page.code_line
    if piece.kind is PieceKind.TABLE:
        return page.px(4) + int(text.count("\n") * page.em * (_ROW + 1))
    if piece.kind in (PieceKind.PROSE, PieceKind.BUBBLE, PieceKind.MATH):
        return page.px(6) + _prose(text, width, page)
    return page.px(9)


def _prose(text: str, width: int, page: Page) -> int:
    em = page.em
    lines = len(text) * em * _LETTER / width + text.count("\n") * 0.6 + 1
    return int(lines * em * theme.LINE_HEIGHT)
