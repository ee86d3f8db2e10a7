"""PieceView: the widget of a piece, as wide as the column; it says how high it needs to be."""

from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QWidget

from app.ui.transcript.page import Page
from app.ui.transcript.piece import Piece
from app.ui.transcript.text import Text


class PieceView(QWidget):
    """Base of all pieces' widgets.

    Signals:
        resized: it needs another height than `fit` said last.
    """

    resized = Signal()

    def __init__(self, page: Page, parent: QWidget) -> None:
        super().__init__(parent)
        self.page = page
        self.piece: Piece | None = None

    @property
    def text(self) -> Text | None:
        """What can be selected in it."""
        return None

    def show_piece(self, piece: Piece) -> None:
        """Show another piece of the same kind; nothing happens if it is equal."""
        if piece is not self.piece and piece != self.piece:
            self.piece = piece
            self.fill(piece)

    def fill(self, piece: Piece) -> None:
        """Show a piece. For subclasses; `fit` follows."""
        raise NotImplementedError

    def fit(self, width: int) -> int:
        """Lay out to a width; the height in pixels that this takes.

        What is on the screen keeps its place until `settle`: until then it can be moved as it was
        painted, and once a widget on it has grown it could not.
        """
        raise NotImplementedError

    def settle(self) -> None:
        """Put the parts where the last `fit` found room for them."""

    def reveal(self, spot: QPoint) -> None:
        """Bring a spot of the text into sight sideways, where it is wider than the column."""

    def set_active(self, active: bool) -> None:
        """The pointer or the keyboard is at this turn, or it left."""


class ActingView(PieceView):
    """Base of widgets by which a person does something with the turn.

    Signals:
        acted (TurnAction): the person wants this done.
        edited (str): the person changed the words of the turn to these.
    """

    acted = Signal(object)
    edited = Signal(str)
