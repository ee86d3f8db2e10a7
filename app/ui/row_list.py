"""RowList: a list of sidebar rows in which only the visible ones are widgets.

A list of thousands costs as much as a screenful. Item views are avoided on purpose: Qt's
accessibility bridge for their cells crashes on macOS while rows come and go (QTBUG-149612).
"""

from bisect import bisect_right
from collections.abc import Collection, Sequence
from itertools import accumulate

from PySide6.QtCore import QEvent, QMimeData, QPoint, QRect, Qt, Signal
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
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QWidget

from app.ui import theme
from app.ui.scroll_bar import use_thin_scroll_bar
from app.ui.sidebar_row import SidebarRow, row_heights
from app.ui.sidebar_rows import ChatRow, Row, SectionRow
from app.ui.theme import Role, color

MIME = "application/x-martlet-conversations"  # ids, one a line
MARGIN = 10  # px at both sides of the rows


class RowList(QAbstractScrollArea):
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
        self._rows: tuple[Row, ...] = ()
        self._tops: list[int] = [0]  # of each row, and the end of the last
        self._pool: list[SidebarRow] = []
        self._active: Collection[str] = frozenset()
        self._current: str | None = None
        self._current_row: ChatRow | None = None  # a search may list a conversation twice
        self._keyboard_focus = False
        self._selected: set[str] = set()
        self._press: QPoint | None = None
        self._target: SectionRow | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAcceptDrops(True)
        use_thin_scroll_bar(self)
        self.verticalScrollBar().valueChanged.connect(self._place_rows)
        self.viewport().setAutoFillBackground(False)

    # What is shown

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Show these rows; the selection and the scroll position stay where they can."""
        self._rows = tuple(rows)
        self._measure()
        self._select_ids(self._selected & {row.conversation_id for row in self._chats()})

    def set_active(self, conversation_ids: Collection[str]) -> None:
        """Mark the conversations with a running or waiting answer."""
        self._active = conversation_ids
        self._place_rows()

    def set_current(self, conversation_id: str | None) -> None:
        """Select one conversation, as a window shows it; says nothing."""
        self._current = conversation_id
        self._current_row = None
        self._select_ids({conversation_id} if conversation_id else set())

    def selected(self) -> tuple[str, ...]:
        """Ids of the selected conversations, from the top."""
        chosen = (r.conversation_id for r in self._chats() if r.conversation_id in self._selected)
        return tuple(dict.fromkeys(chosen))

    def rows(self) -> tuple[Row, ...]:
        """The rows shown, from the top."""
        return self._rows

    def row_widgets(self) -> list[SidebarRow]:
        """The rows that are widgets now: those on the screen."""
        return [widget for widget in self._pool if not widget.isHidden()]

    def rectangle(self, row: Row) -> QRect:
        """Where a row is, in the viewport, for an editor laid over it."""
        index = self._rows.index(row)
        top = self._tops[index] - self.verticalScrollBar().value()
        return QRect(MARGIN, top, self._row_width(), self._tops[index + 1] - self._tops[index])

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

    # Layout

    def _measure(self) -> None:
        self._tops = list(accumulate(row_heights(self._rows), initial=0))
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, self._tops[-1] + 2 * theme.SPACE - self.viewport().height()))
        bar.setPageStep(self.viewport().height())
        bar.setSingleStep(5 * theme.SPACE)
        self._place_rows()

    def _place_rows(self) -> None:
        offset = self.verticalScrollBar().value()
        first = max(bisect_right(self._tops, offset) - 1, 0)
        last = bisect_right(self._tops, offset + self.viewport().height())
        shown = self._rows[first:last]
        self._grow_pool(len(shown))
        for place, (widget, row) in enumerate(zip(self._pool, shown, strict=False), first):
            top, bottom = self._tops[place : place + 2]
            widget.setGeometry(MARGIN, top - offset, self._row_width(), bottom - top)
            self._fill(widget, row)
            widget.show()
        for widget in self._pool[len(shown) :]:
            widget.hide()

    def _fill(self, widget: SidebarRow, row: Row) -> None:
        conversation_id = row.conversation_id if isinstance(row, ChatRow) else None
        widget.show_row(
            row,
            selected=conversation_id in self._selected,
            active=conversation_id in self._active,
            target=row is self._target,
        )

    def _grow_pool(self, size: int) -> None:
        while len(self._pool) < size:
            widget = SidebarRow(self.viewport())
            widget.clicked.connect(self._row_pressed)
            widget.installEventFilter(self)
            self._pool.append(widget)

    def _row_width(self) -> int:
        return self.viewport().width() - 2 * MARGIN

    def _chats(self) -> list[ChatRow]:
        return [row for row in self._rows if isinstance(row, ChatRow)]

    def _current_place(self, chats: Sequence[ChatRow]) -> int | None:
        if self._current_row in chats:
            return chats.index(self._current_row)
        ids = [row.conversation_id for row in chats]
        return ids.index(self._current) if self._current in ids else None

    def reveal(self, row: Row) -> None:
        """Scroll as little as shows the row."""
        place = self.rectangle(row)
        bar = self.verticalScrollBar()
        if place.top() < 0:
            bar.setValue(bar.value() + place.top())
        elif place.bottom() > self.viewport().height():
            bar.setValue(bar.value() + place.bottom() - self.viewport().height())

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
        self._place_rows()
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
        reached = bisect_right(self._tops, position.y() + self.verticalScrollBar().value())
        above = self._rows[:reached]
        return next((row for row in reversed(above) if isinstance(row, SectionRow)), None)

    def _set_target(self, target: SectionRow | None) -> None:
        self._target = target
        self._place_rows()

    # Keyboard, focus, painting

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {
            Qt.Key.Key_Up: -1,
            Qt.Key.Key_Down: 1,
            Qt.Key.Key_Home: -len(self._rows),
            Qt.Key.Key_End: len(self._rows),
            Qt.Key.Key_PageUp: -10,
            Qt.Key.Key_PageDown: 10,
        }
        with_command = event.modifiers() == Qt.KeyboardModifier.ControlModifier
        if not event.modifiers() and event.key() in steps:
            self.step(steps[Qt.Key(event.key())])
        elif not event.modifiers() and event.key() in _LEAVING:
            self.left.emit()
        elif with_command and event.key() in _DELETING and self._selected:
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

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._measure()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ApplicationFontChange:
            self._measure()


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
