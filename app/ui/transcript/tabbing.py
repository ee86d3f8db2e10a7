"""Where Tab leads in the transcript: in reading order, whatever order widgets were made in."""

from collections.abc import Callable, Iterable

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QWidget

from app.ui.transcript.turn_view import TurnView


def tab_stops(turns: Iterable[TurnView]) -> list[QWidget]:
    """Every turn, and after it what is in it, from the top down and from the left."""
    stops: list[QWidget] = []
    for turn in sorted(turns, key=lambda turn: turn.y()):
        stops += turn, *sorted(_focusable(turn), key=lambda widget: _place(widget, turn))
    return stops


def outside(area: QWidget, step: Callable[[QWidget], QWidget | None]) -> QWidget | None:
    """The next widget in the window's order that takes the focus and is not in an area."""
    widget = step(area)
    while widget is not None and widget is not area:
        if not area.isAncestorOf(widget) and _takes_tab(widget):
            return widget
        widget = step(widget)
    return None


def _focusable(turn: TurnView) -> list[QWidget]:
    return [widget for widget in turn.findChildren(QWidget) if _takes_tab(widget)]


def _takes_tab(widget: QWidget) -> bool:
    takes = widget.focusPolicy() & Qt.FocusPolicy.TabFocus
    return bool(takes) and widget.isVisible() and widget.isEnabled()


def _place(widget: QWidget, turn: TurnView) -> tuple[int, int]:
    corner = widget.mapTo(turn, QPoint(0, 0))
    return corner.y(), corner.x()
