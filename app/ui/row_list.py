"""RowList: the list of conversations: selection, keyboard, menus, dragging into folders."""

from collections.abc import Collection, Sequence

from PySide6.QtCore import QEvent, QMimeData, QPoint, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QContextMenuEvent,
    QDrag,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QFocusEvent,
    QGuiApplication,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QApplication, QWidget

from app.ui import theme
from app.ui.row_column import RowColumn
from app.ui.sidebar_row import SidebarRow
from app.ui.sidebar_rows import ChatRow, Row, SectionRow
from app.ui.theme import Role, color

MIME = "application/x-martlet-conversations"  # ids, one a line


class RowList(RowColumn):
    """Shows rows; one or several conversations are selected, and one of them is current.

    Signals: see the comment of each.
    """

    # ChatRow: a conversation became the current one, by mouse or keyboard
    chosen = Signal(object)
    # other conversations are selected than before
    selection_changed = Signal()
    # SectionRow: a folder's heading was pressed
    section_pressed = Signal(object)
    # Row, QPoint: a menu is wanted for this row at this global position
    menu_wanted = Signal(object, QPoint)
    # Row: its name is to be edited (double click)
    rename_wanted = Signal(object)
    # tuple[str, ...]: the selected conversations are to be deleted (Command-Delete)
    delete_wanted = Signal(object)
    # Return or Escape: the keyboard is wanted where one writes
    left = Signal()
    # tuple[str, ...], str | None: these conversations were dropped on this folder, or out of any
    moved = Signal(object, object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._active: Collection[str] = frozenset()
        self._current: str | None = None
        self._current_row: ChatRow | None = None  # a search may list a conversation twice
        self._keyboard_focus = False
        self._selected: set[str] = set()
        self._press: QPoint | None = None
        self._target: SectionRow | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAcceptDrops(True)

    # What is shown

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Show these rows; the selection and the scroll position stay where they can."""
        super().show_rows(rows)
        self._select_ids(self._selected & {row.conversation_id for row in self._chats()})

    def set_active(self, conversation_ids: Collection[str]) -> None:
        """Mark the conversations with a running or waiting answer."""
        self._active = conversation_ids
        self.refresh()

    def set_current(self, conversation_id: str | None) -> None:
        """Select one conversation, as a window shows it; says nothing."""
        self._current = conversation_id
        self._current_row = None
        self._select_ids({conversation_id} if conversation_id else set())

    def selected(self) -> tuple[str, ...]:
        """Ids of the selected conversations, from the top."""
        chosen = (r.conversation_id for r in self._chats() if r.conversation_id in self._selected)
        return tuple(dict.fromkeys(chosen))

    def step(self, delta: int) -> None:
        """Choose the conversation `delta` places after the current one."""
        chats = self._chats()
        if not chats:
            return
        here = self._current_place(chats)
        if here is None:
            here = -1 if delta > 0 else len(chats)
        self.choose(chats[min(max(here + delta, 0), len(chats) - 1)])

    def choose(self, row: ChatRow) -> None:
        """Make a conversation the current one, as a click does."""
        self.set_current(row.conversation_id)
        self._current_row = row
        self.reveal(row)
        self._announce(row)
        self.chosen.emit(row)

    # What rows show

    def fill(self, widget: SidebarRow, row: Row) -> None:
        conversation_id = row.conversation_id if isinstance(row, ChatRow) else None
        widget.show_row(
            row,
            selected=conversation_id in self._selected,
            active=conversation_id in self._active,
            target=row is self._target,
        )

    def prepare(self, widget: SidebarRow) -> None:
        widget.clicked.connect(self._row_pressed)
        widget.installEventFilter(self)

    def _chats(self) -> list[ChatRow]:
        return [row for row in self.rows() if isinstance(row, ChatRow)]

    def _current_place(self, chats: Sequence[ChatRow]) -> int | None:
        if self._current_row in chats:
            return chats.index(self._current_row)
        ids = [row.conversation_id for row in chats]
        return ids.index(self._current) if self._current in ids else None

    def _announce(self, row: ChatRow) -> None:
        """Assistive tools hear which conversation the keyboard is on: rows have no focus."""
        self.setAccessibleDescription(row.title)
        if QAccessible.isActive():
            event = QAccessibleEvent(self, QAccessible.Event.DescriptionChanged)
            QAccessible.updateAccessibility(event)

    # Mouse

    def _row_pressed(self) -> None:
        widget = self.sender()
        if not isinstance(widget, SidebarRow):
            return
        if isinstance(widget.row, SectionRow):
            self.section_pressed.emit(widget.row)
        elif widget.row is not None:
            self._select(widget.row, QGuiApplication.keyboardModifiers())

    def _select(self, row: ChatRow, modifiers: Qt.KeyboardModifier) -> None:
        if modifiers & Qt.KeyboardModifier.ControlModifier:  # Command on a Mac
            self._select_ids(self._selected ^ {row.conversation_id})
        elif modifiers & Qt.KeyboardModifier.ShiftModifier and self._current:
            self._select_ids(self._between(self._current, row.conversation_id))
        else:
            self.choose(row)

    def _select_ids(self, conversation_ids: set[str]) -> None:
        changed = conversation_ids != self._selected
        self._selected = conversation_ids
        self.refresh()
        if changed:
            self.selection_changed.emit()

    def _between(self, one: str, other: str) -> set[str]:
        ids = [row.conversation_id for row in self._chats()]
        if one not in ids:
            return {other}
        low, high = sorted((ids.index(one), ids.index(other)))
        return set(ids[low : high + 1])

    def eventFilter(self, watched: QWidget, event: QEvent) -> bool:  # type: ignore[override]
        """Rows are buttons; what a list does beyond pressing one is seen here."""
        if isinstance(event, QMouseEvent) and isinstance(watched, SidebarRow):
            return self._row_mouse(watched, event)
        if isinstance(event, QContextMenuEvent) and isinstance(watched, SidebarRow):
            self._want_menu(watched.row, event.globalPos())
            return True
        return False

    def _row_mouse(self, widget: SidebarRow, event: QMouseEvent) -> bool:
        if event.type() == QEvent.Type.MouseButtonDblClick:
            self.rename_wanted.emit(widget.row)
            return True
        if event.type() == QEvent.Type.MouseButtonPress:
            self._press = event.position().toPoint()
        if event.type() == QEvent.Type.MouseMove and self._press is not None:
            way = (event.position().toPoint() - self._press).manhattanLength()
            if way >= QApplication.startDragDistance() and isinstance(widget.row, ChatRow):
                self._drag(widget, widget.row)
                return True
        return False

    def _want_menu(self, row: Row | None, position: QPoint) -> None:
        if isinstance(row, ChatRow) and row.conversation_id not in self._selected:
            self._select_ids({row.conversation_id})
        if row is not None:
            self.menu_wanted.emit(row, position)

    # Dragging conversations into folders

    def _drag(self, widget: SidebarRow, row: ChatRow) -> None:
        self._press = None
        widget.setDown(False)
        if row.conversation_id not in self._selected:
            self._select_ids({row.conversation_id})
        drag = QDrag(self)
        drag.setMimeData(carried(self.selected()))
        drag.setPixmap(widget.grab())
        drag.exec(Qt.DropAction.MoveAction)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasFormat(MIME):
            event.acceptProposedAction()
        else:
            event.ignore()  # files go to the window

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        self._set_target(self._heading_at(event.position().toPoint()))
        event.setAccepted(self._target is not None)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._set_target(None)

    def dropEvent(self, event: QDropEvent) -> None:
        target = self._target
        self._set_target(None)
        if target is None:
            return
        event.acceptProposedAction()
        self.moved.emit(carried_ids(event.mimeData()), target.key if target.is_folder else None)

    def _heading_at(self, position: QPoint) -> SectionRow | None:
        """The heading over the row at this place in the viewport."""
        above = self.rows_down_to(position.y())
        return next((row for row in reversed(above) if isinstance(row, SectionRow)), None)

    def _set_target(self, target: SectionRow | None) -> None:
        self._target = target
        self.refresh()

    # Keyboard, focus, painting

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {
            Qt.Key.Key_Up: -1,
            Qt.Key.Key_Down: 1,
            Qt.Key.Key_Home: -len(self.rows()),
            Qt.Key.Key_End: len(self.rows()),
            Qt.Key.Key_PageUp: -10,
            Qt.Key.Key_PageDown: 10,
        }
        # On a Mac, arrows and Delete count as keys of the keypad.
        held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if not held and event.key() in steps:
            self.step(steps[Qt.Key(event.key())])
        elif not held and event.key() in _LEAVING:
            self.left.emit()
        elif held == _COMMAND and event.key() in _DELETING and self._selected:
            self.delete_wanted.emit(self.selected())
        else:
            event.ignore()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._keyboard_focus = event.reason() in _KEYBOARD
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), color(Role.SIDEBAR))
        current = next((w for w in self.row_widgets() if w.is_selected), None)
        if self.hasFocus() and self._keyboard_focus and current is not None:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(color(Role.ACCENT), 2))
            ring = current.geometry().adjusted(-2, -1, 2, 1)
            painter.drawRoundedRect(ring, theme.RADIUS_CARD, theme.RADIUS_CARD)


_COMMAND = Qt.KeyboardModifier.ControlModifier  # as Qt calls it on a Mac
_LEAVING = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape)
_DELETING = (Qt.Key.Key_Backspace, Qt.Key.Key_Delete)
_KEYBOARD = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)


def carried(conversation_ids: Sequence[str]) -> QMimeData:
    """Conversations as something that can be dragged."""
    data = QMimeData()
    data.setData(MIME, "\n".join(conversation_ids).encode())
    return data


def carried_ids(data: QMimeData) -> tuple[str, ...]:
    """The conversations that are dragged."""
    return tuple(bytes(data.data(MIME).data()).decode().split("\n"))
