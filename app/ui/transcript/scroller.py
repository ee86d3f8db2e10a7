"""Scroller: which part of a column is on the screen, and that it stands still or follows the end.

While it follows, the end of the column is at the bottom of the screen. Otherwise it keeps an
anchor: what is on the screen does not move when a height above it becomes known.
"""

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QScrollBar, QWidget

from app.ui.transcript.column import Anchor, Column

_PASSES = 8  # heights settle in two or three
_AHEAD = 1.0  # screens above and below that are made real in idle moments
_KEPT = 2.5  # screens above and below whose widgets are kept
_SLICE_S = 0.006  # for widgets, at a time; what is not ready then follows at once
_FROM_TOP = 3  # what is brought into sight comes to this part of the screen's height
_LINE = 24  # px; nearer to the end than this counts as at the end


class Scroller(QObject):
    """Moves the column.

    Signals:
        arranged: the visible widgets are where they belong.
        left_end (bool): whether the end is out of sight.
    """

    arranged = Signal()
    left_end = Signal(bool)

    def __init__(self, column: Column, viewport: QWidget, bar: QScrollBar) -> None:
        super().__init__(viewport)
        self._column = column
        self._viewport = viewport
        self._bar = bar
        self._following = True
        self._anchor: Anchor | None = None
        self._is_arranging = False
        self._is_disturbed = False
        self._is_stale = False  # nothing on the screen is where it belongs
        self._was_away = False
        self._idle = QTimer(self)
        self._idle.setSingleShot(True)
        self._idle.timeout.connect(self._work_ahead)

    @property
    def is_following(self) -> bool:
        return self._following

    @property
    def is_arranging(self) -> bool:
        """Whether a change of the scroll bar is our own doing."""
        return self._is_arranging

    @property
    def anchor(self) -> Anchor | None:
        """The place on the screen; None while it follows the end."""
        return None if self._following else self._anchor

    def follow(self) -> None:
        """Go to the end, and stay there while it grows."""
        self._following = True
        self.arrange()

    def open_at(self, anchor: Anchor | None) -> None:
        """Another conversation: show this place of it, or its end, in the next moment."""
        self._following = anchor is None
        self._anchor = anchor
        self._is_stale = True
        self._idle.start(0)

    def release(self) -> None:
        """Stand still from now on."""
        if self._following:
            self._following = False
            self._take_anchor()

    def go_to(self, anchor: Anchor) -> None:
        """Show this place at the top of the screen."""
        self._following = False
        self._anchor = anchor
        self.arrange()

    def bring(self, anchor: Anchor) -> None:
        """Have a line that begins at this place in sight, and stand still there."""
        self.release()
        top, height = self._column.top_for(anchor), self._viewport.height()
        if top is not None and not 0 <= top - self._bar.value() <= height - 2 * _LINE:
            self.go_to(replace(anchor, offset=anchor.offset - height // _FROM_TOP))

    def scrolled(self, upwards: bool) -> None:
        """The person moved the bar."""
        self._following = not upwards and self._is_at_end()
        self._take_anchor()
        self.arrange()

    def through(self, change: Callable[[], None]) -> None:
        """Make a change after which all heights are others, and stay at the same words."""
        anchor = None if self._following else self._anchor
        share = self._column.share_above(anchor) if anchor else 0.0
        change()
        if anchor is not None:
            self._anchor = replace(anchor, offset=0)
            self.arrange()  # measures the piece
            self._anchor = replace(anchor, offset=round(share * self._column.height_of(anchor)))
        self.arrange()

    def show_turn(self, index: int) -> None:
        """Scroll as little as is needed to show a turn, or its beginning."""
        top, bottom = self._column.bounds(index)
        self.show_stretch(top - self._bar.value(), bottom - self._bar.value())

    def show_stretch(self, top: int, bottom: int) -> None:
        """The same for a stretch, in pixels from the top of the screen."""
        height = self._viewport.height()
        if top < 0 or bottom - top > height:
            self._bar.setValue(self._bar.value() + top)
        elif bottom > height:
            self._bar.setValue(self._bar.value() + bottom - height)

    def arrange(self) -> None:
        """Make what is visible real and put it where it belongs."""
        self._arrange(perf_counter() + _SLICE_S)

    def _arrange(self, until: float) -> None:
        if self._is_arranging:
            self._is_disturbed = True  # a bar came or went, and the column has another width
            return
        self._is_arranging = True
        self._is_stale = False
        for _ in range(_PASSES):
            self._is_disturbed = False
            self._move_bar()
            top = self._bar.value()
            bottom = top + self._viewport.height()
            changed = self._column.realise(top, bottom, until, upwards=self._following)
            if not changed and not self._is_disturbed:
                break
        self._place()
        self._is_arranging = False
        self._idle.start(0)

    @property
    def is_idle(self) -> bool:
        """Whether the screens around the visible one are real."""
        return not self._idle.isActive()

    def _move_bar(self) -> None:
        """Let the bar say where the anchor, or the end, is now."""
        height = self._viewport.height()
        self._bar.setRange(0, max(self._column.height - height, 0))
        self._bar.setPageStep(height)
        if self._following:
            self._bar.setValue(self._bar.maximum())
        elif self._anchor is not None:
            top = self._column.top_for(self._anchor)
            self._bar.setValue(self._bar.value() if top is None else top)

    def _place(self) -> None:
        top, height = self._bar.value(), self._viewport.height()
        kept = int(height * _KEPT)
        self._column.shift(top)
        self._column.release(top - kept, top + height + kept)
        self._column.place(top)
        if not self._following:
            self._take_anchor()  # pieces that were measured make a better one
        self.arranged.emit()
        away = not self._following and not self._is_at_end()
        if away != self._was_away:
            self._was_away = away
            self.left_end.emit(away)

    def _take_anchor(self) -> None:
        top = self._bar.value()
        self._anchor = self._column.anchor(top, top + self._viewport.height())

    def _is_at_end(self) -> bool:
        return self._bar.value() >= self._bar.maximum() - _LINE

    def _work_ahead(self) -> None:
        """Make the screens around the visible one real, a little at a time."""
        if self._is_stale:
            self.arrange()
            return
        top, height = self._bar.value(), self._viewport.height()
        ahead = int(height * _AHEAD)
        until = perf_counter() + _SLICE_S
        changed = False
        for start, end in ((top, top + height), (top - ahead, top + height + ahead)):
            if not self._column.is_real(start, end) and perf_counter() < until:
                changed |= self._column.realise(start, end, until, upwards=self._following)
        if changed or not self._column.is_real(top - ahead, top + height + ahead):
            self._arrange(until)
        else:
            self._place()
