"""Column: the turns of a conversation, one above the other; those near the screen are widgets.

Heights in it are pixels from the top of the first turn. It knows nothing of scrolling: its owner
says which stretch must be real (`realise`), and where that stretch is to be shown (`place`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication, QWidget

from app.ui import theme
from app.ui.transcript.page import Page
from app.ui.transcript.pieces import TurnState
from app.ui.transcript.stack import Stack
from app.ui.transcript.turn import Turn
from app.ui.transcript.turn_view import TurnView

MARGIN = 8  # steps of the spacing, at least, beside the column
ABOVE, BELOW = 2, 8  # the same, over the first turn and under the last one


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place that stands still while heights around it change."""

    turn_id: str
    piece: int
    offset: int  # pixels from the top of the piece to the top of the screen


class Column(QObject):
    """The turns.

    Signals:
        resized: a height became unknown; what is visible must be arranged again.
        acted (str, TurnAction): a person wants this done with the turn of this message.
        edited (str, str): a person changed the words of the turn of this message.
    """

    resized = Signal()
    acted = Signal(str, object)
    edited = Signal(str, str)

    def __init__(self, page: Page, viewport: QWidget) -> None:
        super().__init__(viewport)
        self._page = page
        self._viewport = viewport
        self._turns: list[Turn] = []
        self._indexes: dict[str, int] = {}
        self._heights = Stack()
        self._views: dict[str, TurnView] = {}
        # How a turn is to be shown; whoever knows the conversation sets it.
        self.state_of: Callable[[int], TurnState] = lambda index: TurnState()
        self._width = 0  # for which the heights are

    # What there is

    @property
    def turns(self) -> Sequence[Turn]:
        return self._turns

    @property
    def height(self) -> int:
        return self._heights.height + self._page.px(ABOVE + BELOW)

    @property
    def width(self) -> int:
        """Pixels of the column itself."""
        room = self._viewport.width() - 2 * theme.SPACE * MARGIN
        return max(min(theme.COLUMN_WIDTH, room), 120)

    def index_of(self, turn_id: str) -> int | None:
        """Where the turn of a message is."""
        return self._indexes.get(turn_id)

    def view(self, turn_id: str) -> TurnView | None:
        """The widget of a turn, if it has one."""
        return self._views.get(turn_id)

    def views(self) -> Iterator[TurnView]:
        """The widgets that there are."""
        return iter(list(self._views.values()))

    # Changes

    def replace(self, start: int, turns: Sequence[Turn]) -> None:
        """Let these turns follow the first `start` ones."""
        for turn in self._turns[start:]:
            self._drop(turn.message.id)
            del self._indexes[turn.message.id]
        self._turns[start:] = turns
        self._indexes.update((t.message.id, start + i) for i, t in enumerate(turns))
        width = self.width
        self._heights.replace(start, [turn.height(width) for turn in turns])

    def refresh(self, index: int) -> None:
        """A turn changed."""
        turn = self._turns[index]
        self._note_height(index)
        if view := self._views.get(turn.message.id):
            view.refresh()

    def update_state(self, index: int) -> None:
        """A turn may have to be shown differently."""
        turn = self._turns[index]
        if turn.is_cut and turn.state != (state := self.state_of(index)):
            turn.show(state, self.width)
            self.refresh(index)

    def rebuild(self) -> None:
        """The look of text changed: make all widgets and measure all heights anew."""
        for turn_id in list(self._views):
            self._drop(turn_id)
        self._forget_heights()

    def fit_width(self) -> None:
        """The viewport may have another width."""
        if self._width != self.width:
            self._width = self.width
            self._forget_heights()

    # Layout

    def realise(self, top: int, bottom: int, until: float, *, upwards: bool = False) -> bool:
        """Make a stretch real, until a moment of `perf_counter()`; whether a height was news.

        What has a widget is measured in any case. Ask again until the stretch `is_real`.
        """
        changed = False
        shift = self._page.px(ABOVE)
        indexes = self._heights.between(top - shift, bottom - shift)
        for index in reversed(indexes) if upwards else indexes:
            turn = self._turns[index]
            if not turn.is_cut:
                turn.cut(self.state_of(index), self.width)
            changed |= self._note_height(index)
            start = self._heights.top(index) + shift
            missing = list(self._missing(turn, top - start, bottom - start))
            view = self._view_of(turn)
            for piece in reversed(missing) if upwards else missing:
                if view.view(piece) is None and perf_counter() > until:
                    return changed
                view.realise([piece], self.width)
                changed |= self._note_height(index)
        return changed

    def is_real(self, top: int, bottom: int) -> bool:
        """Whether all of a stretch has widgets."""
        shift = self._page.px(ABOVE)
        for index in self._heights.between(top - shift, bottom - shift):
            turn = self._turns[index]
            start = self._heights.top(index) + shift
            if not turn.is_cut or list(self._missing(turn, top - start, bottom - start)):
                return False
        return True

    def shift(self, scrolled: int) -> None:
        """Move what is painted to where `place` will put it: only what comes into sight is painted
        anew. Before anything on the screen grows, comes or goes, for then Qt would not move it.
        """
        for turn_id, view in self._views.items():
            top = self._page.px(ABOVE) + self._heights.top(self._indexes[turn_id]) - scrolled
            pixels = view.distance_to(top, self._viewport.height())
            if pixels is None:
                continue
            if pixels and abs(pixels) < self._viewport.height():
                self._viewport.scroll(0, pixels)
            return

    def place(self, scrolled: int) -> None:
        """Put the widgets where they are when the column's first `scrolled` pixels are hidden."""
        width, above = self.width, self._page.px(ABOVE)
        x = (self._viewport.width() - width) // 2
        for turn_id, view in self._views.items():
            index = self._indexes[turn_id]
            y = above + self._heights.top(index) - scrolled
            margin = view.margin
            view.setGeometry(x - margin, y, width + 2 * margin, self._heights[index])
            view.place(width)
            if view.isHidden():
                view.show()

    def release(self, top: int, bottom: int) -> None:
        """Let the widgets go that are not within a stretch."""
        shift = self._page.px(ABOVE)
        kept = self._heights.between(top - shift, bottom - shift)
        focused = QApplication.focusWidget()
        for turn_id, view in list(self._views.items()):
            index = self._indexes[turn_id]
            start = self._heights.top(index) + shift
            view.release(view.turn.heights.between(top - start, bottom - start))
            has_focus = focused is not None and (view is focused or view.isAncestorOf(focused))
            if index not in kept and not has_focus:
                self._drop(turn_id)

    # Anchors

    def anchor(self, top: int, bottom: int) -> Anchor | None:
        """What stands still: the first piece in a stretch whose height is known."""
        first: Anchor | None = None
        shift = self._page.px(ABOVE)
        for index in self._heights.between(top - shift, bottom - shift):
            turn = self._turns[index]
            start = self._heights.top(index) + shift
            for piece in turn.heights.between(top - start, bottom - start):
                offset = top - start - turn.heights.top(piece)
                found = Anchor(turn.message.id, piece, offset)
                if turn.is_measured(piece):
                    return found
                first = first or found
            first = first or Anchor(turn.message.id, 0, top - start)
        return first

    def top_for(self, anchor: Anchor) -> int | None:
        """The height that must be at the top of the screen for an anchor to stand still."""
        index = self.index_of(anchor.turn_id)
        if index is None:
            return None
        heights = self._turns[index].heights
        piece = min(anchor.piece, len(heights))
        return self._page.px(ABOVE) + self._heights.top(index) + heights.top(piece) + anchor.offset

    def height_of(self, anchor: Anchor) -> int:
        """The height of an anchor's piece."""
        index = self.index_of(anchor.turn_id)
        if index is None:
            return 0
        heights = self._turns[index].heights
        return heights[anchor.piece] if anchor.piece < len(heights) else 0

    def share_above(self, anchor: Anchor) -> float:
        """How much of an anchor's piece is above the top of the screen."""
        return anchor.offset / max(self.height_of(anchor), 1)

    def turn_at(self, y: int) -> int | None:
        """The turn at a height, or the nearest one."""
        return self._heights.at(y - self._page.px(ABOVE)) if self._turns else None

    def bounds(self, index: int) -> tuple[int, int]:
        """Top and bottom of a turn."""
        top = self._page.px(ABOVE) + self._heights.top(index)
        return top, top + self._heights[index]

    # Inside

    def _missing(self, turn: Turn, top: int, bottom: int) -> Iterator[int]:
        view = self._views.get(turn.message.id)
        for piece in turn.heights.between(top, bottom):
            if view is None or view.view(piece) is None or not turn.is_measured(piece):
                yield piece

    def _note_height(self, index: int) -> bool:
        before = self._heights[index]
        self._heights[index] = self._turns[index].height(self.width)
        return self._heights[index] != before

    def _view_of(self, turn: Turn) -> TurnView:
        turn_id = turn.message.id
        if turn_id not in self._views:
            view = TurnView(turn, self._page, self._viewport)
            view.resized.connect(self.resized)
            view.acted.connect(lambda action: self.acted.emit(turn_id, action))
            view.edited.connect(lambda text: self.edited.emit(turn_id, text))
            self._views[turn_id] = view
        return self._views[turn_id]

    def _drop(self, turn_id: str) -> None:
        if view := self._views.pop(turn_id, None):
            view.hide()
            view.deleteLater()  # never at once: an assistive tool may be looking at it

    def _forget_heights(self) -> None:
        width = self.width
        for turn in self._turns:
            turn.forget_heights()
        self._heights.replace(0, [turn.height(width) for turn in self._turns])
