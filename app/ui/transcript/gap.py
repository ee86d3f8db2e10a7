"""The room above a piece, which belongs to its height."""

from app.ui.transcript.page import Page
from app.ui.transcript.piece import Piece, PieceKind

_STEPS = {  # of the spacing, above a piece of this kind
    PieceKind.ATTACHMENTS: 5.0,
    PieceKind.EDITOR: 5.0,
    PieceKind.THINKING: 1.5,
    PieceKind.CODE: 3.0,
    PieceKind.TABLE: 3.0,
    PieceKind.MATH: 2.5,
    PieceKind.PROGRESS: 1.0,
    PieceKind.TROUBLE: 3.0,
    PieceKind.FOOTER: 1.5,
}


def gap_above(pieces: list[Piece], index: int, page: Page) -> int:
    """Pixels between a piece and the one above it, or the turn's edge."""
    piece = pieces[index]
    above = pieces[index - 1] if index else None
    if piece.kind is PieceKind.BUBBLE:
        return _above_bubble(above, piece, page)
    if piece.kind is PieceKind.FOOTER and above is not None and above.kind is PieceKind.BUBBLE:
        return page.px(0.5)
    if piece.kind is PieceKind.PROSE:
        return _above_prose(above, piece, page)
    return page.px(_STEPS[piece.kind])


def _above_bubble(above: Piece | None, piece: Piece, page: Page) -> int:
    if not piece.is_first:
        return 0
    return page.px(1.5 if above is not None else 5)


def _above_prose(above: Piece | None, piece: Piece, page: Page) -> int:
    if above is None:
        return page.px(2)
    if above.is_quiet and not piece.is_quiet:
        return page.px(3)
    if above.kind is PieceKind.PROSE:
        return page.paragraph_gap
    wide = above.kind in (PieceKind.CODE, PieceKind.TABLE, PieceKind.MATH)
    return page.px(3 if wide else 1.5)
