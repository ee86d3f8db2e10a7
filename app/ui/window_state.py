"""Where windows were and what they showed, kept between starts in one INI file."""

from PySide6.QtCore import QByteArray, QSettings

from app.ui.main_window import MainWindow
from app.ui.state_values import integer, texts, truth
from app.ui.transcript.column import Anchor

_COUNT = "windows/count"


def save_windows(state: QSettings, windows: list[MainWindow]) -> None:
    """Keep all open windows, the front one first."""
    state.setValue(_COUNT, len(windows))
    for place, window in enumerate(windows):
        state.beginGroup(f"windows/{place}")
        _save(state, window)
        state.endGroup()
    state.sync()


def window_count(state: QSettings) -> int:
    """How many windows were open; one at least."""
    return max(integer(state.value(_COUNT), 1), 1)


def restore_window(state: QSettings, place: int, window: MainWindow) -> None:
    """Put a window where the one of this place was, showing what that one showed."""
    state.beginGroup(f"windows/{place}")
    geometry = state.value("geometry")
    if isinstance(geometry, QByteArray):
        window.restoreGeometry(geometry)  # Qt keeps it on a screen that is there
    window.panels.restore_sidebar_width(integer(state.value("sidebar_width"), 0))
    window.panels.show_sidebar(truth(state.value("sidebar"), True), at_once=True)
    window.panels.show_inspector(truth(state.value("inspector"), False), at_once=True)
    window.sidebar.restore_folded(frozenset(texts(state.value("folded"))))
    window.show_first(str(state.value("conversation") or ""), _place(state))
    state.endGroup()


def _place(state: QSettings) -> Anchor | None:
    turn_id = str(state.value("turn") or "")
    piece, offset = (integer(state.value(key), 0) for key in ("piece", "offset"))
    return Anchor(turn_id, piece, offset) if turn_id else None


def _save(state: QSettings, window: MainWindow) -> None:
    state.setValue("geometry", window.saveGeometry())
    state.setValue("sidebar_width", window.panels.sidebar_width)
    state.setValue("sidebar", window.panels.sidebar_shown)
    state.setValue("inspector", window.panels.inspector_shown)
    state.setValue("folded", sorted(window.sidebar.folded))
    shown = window.chat.conversation
    state.setValue("conversation", shown.id if shown is not None and window.is_listed else "")
    place = window.pane.place
    state.setValue("turn", place.turn_id if place else "")
    state.setValue("piece", place.piece if place else 0)
    state.setValue("offset", place.offset if place else 0)
