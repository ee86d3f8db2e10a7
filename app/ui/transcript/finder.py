"""Finder: marks words wherever they are read, and shows one place after the other.

A place is known by its message and its number among the places in it. Texts are searched as they
read, and only those on the screen; where a message is out of sight, its source tells in which piece
the place must be.
"""

from collections.abc import Iterator

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from app.blocks.readable import count_of, readable
from app.ui.transcript.column import Anchor, Column
from app.ui.transcript.piece import Piece, PieceKind
from app.ui.transcript.scroller import Scroller
from app.ui.transcript.text import Text
from app.ui.transcript.turn_view import TurnView


class Finder(QObject):
    """Of one transcript."""

    def __init__(self, column: Column, scroller: Scroller, viewport: QWidget) -> None:
        super().__init__(viewport)
        self._column = column
        self._scroller = scroller
        self._words = ""
        self._here: tuple[str, int] | None = None
        self._is_shown = False

    def look_for(self, words: str) -> None:
        """Mark these words; "" marks nothing."""
        self._words = words
        self._here = None
        self.show()

    def go_to(self, message_id: str, number: int) -> None:
        """Mark this place before all others, and bring it into sight."""
        self._here = (message_id, number)
        index = self._column.index_of(message_id)
        if index is None or not self._words:
            return
        if not self._column.turns[index].is_cut:
            self._scroller.go_to(Anchor(message_id, 0, 0))
        piece, number = self._piece_of(self._column.turns[index].pieces, number)
        if self._column.view(message_id) is None:
            self._scroller.go_to(Anchor(message_id, piece, 0))
        self._bring(index, piece, number)
        self.show()

    def show(self) -> None:
        """Show the marks in all widgets that there are."""
        if not self._words and not self._is_shown:
            return
        self._is_shown = bool(self._words)
        for view in self._column.views():
            turn_id = view.turn.message.id
            here = self._here[1] if self._here and self._here[0] == turn_id else None
            self._mark(view, here)

    def _mark(self, view: TurnView, here: int | None) -> None:
        pieces = view.turn.pieces
        wanted = None if here is None else self._piece_of(pieces, here)
        for index, text in _texts(view):
            found = text.places(self._words) if self._words else []
            is_here = bool(found) and wanted is not None and wanted[0] == index
            text.mark(found, min(wanted[1], len(found) - 1) if is_here and wanted else None)

    def _piece_of(self, pieces: list[Piece], number: int) -> tuple[int, int]:
        """The piece that holds a place, and the place's number in it."""
        last = (0, 0)
        for index, piece in enumerate(pieces):
            count = count_of(self._words, words_of(piece))
            if number < count:
                return index, number
            if count:
                last = (index, count - 1)
            number -= count
        return last

    def _bring(self, index: int, piece: int, number: int) -> None:
        message_id = self._column.turns[index].message.id
        view = self._column.view(message_id)
        if view is None:
            return
        view.realise([piece], self._column.width)
        shown = view.view(piece)
        text = shown.text if shown else None
        found = text.places(self._words) if text else []
        if shown is None or text is None or not found:
            self._scroller.go_to(Anchor(message_id, piece, 0))
            return
        self._column.refresh(index)  # the piece was measured
        spot = text.spot_of(found[min(number, len(found) - 1)][0])
        self._scroller.bring(Anchor(message_id, piece, text.mapTo(shown, spot).y()))
        shown.reveal(spot)


def words_of(piece: Piece) -> str:
    """What is searched of a piece: a person's words and the answer, not the reasoning."""
    if piece.kind is PieceKind.BUBBLE:
        return piece.text
    if piece.block is None or piece.is_quiet:
        return ""
    return piece.block.text if piece.kind is PieceKind.CODE else readable(piece.block.text)


def _texts(view: TurnView) -> Iterator[tuple[int, Text]]:
    for index, shown in view.views():
        if shown.text is not None and not (shown.piece is not None and shown.piece.is_quiet):
            yield index, shown.text
