"""Selector: what is selected: text within one turn, or several whole turns.

A drag that begins in a text selects text, through all pieces of its turn; one that leaves the turn
selects whole turns. The selection is kept as places, so that it survives that widgets come and go.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, QPoint, Signal
from PySide6.QtWidgets import QWidget

from app.conversation import Message
from app.ui.transcript.column import Column
from app.ui.transcript.text import Excerpt, Text
from app.ui.transcript.turn_view import TurnView


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a text."""

    turn_id: str
    piece: int
    position: int

    @property
    def order(self) -> tuple[int, int]:
        return self.piece, self.position


class Selector(QObject):
    """Anchor and head of a selection.

    Signals:
        changed: something else is selected, or nothing.
    """

    changed = Signal()

    def __init__(self, column: Column, viewport: QWidget) -> None:
        super().__init__(viewport)
        self._column = column
        self._viewport = viewport
        self._anchor: tuple[Spot, Spot] | None = None  # a word, when it began with two clicks
        self._head: tuple[Spot, Spot] | None = None
        self._is_shown = False
        self._turns: tuple[str, str] | None = None  # the first and last one that was chosen

    @property
    def is_empty(self) -> bool:
        return self._turns is None and self._range() is None

    def clear(self) -> None:
        """Select nothing."""
        if not (self._anchor is None and self._turns is None):
            self._anchor = self._head = self._turns = None
            self._tell()

    def press(self, point: QPoint, clicks: int = 1, *, extend: bool = False) -> None:
        """Begin to select at a point of the viewport; two clicks take a word, three a paragraph."""
        spot = self._spot_at(point)
        if extend and self._anchor is not None and spot is not None:
            self._head = (spot, spot)
        else:
            self._turns = None
            self._anchor = self._head = self._grown(spot, clicks) if spot else None
        self._tell()

    def drag(self, point: QPoint) -> None:
        """Go on to a point of the viewport."""
        spot = self._spot_at(point)
        if self._anchor is None or spot is None:
            return
        begun = self._anchor[0].turn_id
        self._head = (spot, spot)
        self._turns = (begun, spot.turn_id) if spot.turn_id != begun else None
        self._tell()

    def select_turn(self, turn_id: str, *, extend: bool = False) -> None:
        """Select a whole turn, or all turns from the one that was selected first to this one."""
        first = self._turns[0] if extend and self._turns else turn_id
        self._anchor = self._head = None
        self._turns = (first, turn_id)
        self._tell()

    def select_all(self) -> None:
        """Select every turn."""
        if turns := self._column.turns:
            self._anchor = self._head = None
            self._turns = (turns[0].message.id, turns[-1].message.id)
            self._tell()

    def messages(self) -> Sequence[Message]:
        """The whole turns that are selected."""
        return [self._column.turns[index].message for index in self._chosen()]

    def excerpts(self) -> list[Excerpt]:
        """The text that is selected within one turn, piece by piece."""
        bounds = self._range()
        if bounds is None:
            return []
        view = self._column.view(bounds[0].turn_id)
        if view is None:
            return []
        view.realise(range(bounds[0].piece, bounds[1].piece + 1), self._column.width)
        return [
            text.excerpt(*_part(bounds, piece, text))
            for piece, text in _texts(view)
            if bounds[0].piece <= piece <= bounds[1].piece
        ]

    def show(self) -> None:
        """Show the selection in all widgets that there are."""
        if self.is_empty and not self._is_shown:
            return
        self._is_shown = not self.is_empty
        chosen = self._chosen()
        bounds = None if chosen else self._range()
        for view in self._column.views():
            index = self._column.index_of(view.turn.message.id)
            view.set_selected(index in chosen)
            here = bounds if bounds and bounds[0].turn_id == view.turn.message.id else None
            for piece, text in _texts(view):
                text.select(*(_part(here, piece, text) if here else (0, 0)))

    def _tell(self) -> None:
        self.show()
        self.changed.emit()

    def _chosen(self) -> range:
        """Indexes of the selected turns."""
        if self._turns is None:
            return range(0)
        indexes = [self._column.index_of(turn_id) for turn_id in self._turns]
        if None in indexes:
            return range(0)
        first, last = sorted(index for index in indexes if index is not None)
        return range(first, last + 1)

    def _range(self) -> tuple[Spot, Spot] | None:
        """Start and end of the selected text; None if there is none."""
        if self._anchor is None or self._head is None or self._turns is not None:
            return None
        spots = sorted((*self._anchor, *self._head), key=lambda spot: spot.order)
        return (spots[0], spots[-1]) if spots[0].order != spots[-1].order else None

    def _spot_at(self, point: QPoint) -> Spot | None:
        """The place in a text that is nearest to a point of the viewport."""
        view = self._view_at(point)
        if view is None:
            return None
        texts = list(_texts(view))
        if not texts:
            return None
        inside = view.mapFrom(self._viewport, point)
        piece, text = min(texts, key=lambda each: _distance(each[1], view, inside.y()))
        position = text.position_at(text.mapFrom(self._viewport, point))
        return Spot(view.turn.message.id, piece, position)

    def _view_at(self, point: QPoint) -> TurnView | None:
        views = list(self._column.views())
        if not views:
            return None
        return min(views, key=lambda view: _outside(point.y(), view.y(), view.height()))

    def _grown(self, spot: Spot, clicks: int) -> tuple[Spot, Spot]:
        view = self._column.view(spot.turn_id)
        piece = view.view(spot.piece) if view else None
        if clicks == 1 or piece is None or piece.text is None:
            return spot, spot
        around = piece.text.word_at if clicks == 2 else piece.text.paragraph_at
        start, end = around(spot.position)
        return Spot(spot.turn_id, spot.piece, start), Spot(spot.turn_id, spot.piece, end)


def _texts(view: TurnView) -> Iterator[tuple[int, Text]]:
    return ((piece, each.text) for piece, each in view.views() if each.text is not None)


def _part(bounds: tuple[Spot, Spot], piece: int, text: Text) -> tuple[int, int]:
    """Which part of a piece's text lies in a range."""
    first, last = bounds
    if not first.piece <= piece <= last.piece:
        return 0, 0
    start = first.position if piece == first.piece else 0
    return start, last.position if piece == last.piece else text.length


def _distance(text: Text, view: TurnView, y: int) -> int:
    top = text.mapTo(view, QPoint(0, 0)).y()
    return _outside(y, top, text.height())


def _outside(y: int, top: int, height: int) -> int:
    """How far a height is from a stretch; 0 within it."""
    return max(top - y, y - (top + height - 1), 0)
