"""The sidebar: search, the conversations by pin, folder and date, renaming in place, their menu."""

from collections.abc import Callable
from datetime import datetime

from PySide6.QtCore import QEvent, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QMenu, QVBoxLayout, QWidget

from app.conversation import Library, SearchResults
from app.library_controller import LibraryController
from app.ui import theme
from app.ui.label import Label
from app.ui.rename_editor import RenameEditor
from app.ui.row_column import MARGIN
from app.ui.row_list import RowList
from app.ui.search_field import SearchField
from app.ui.sidebar_rows import ChatRow, Row, SectionRow, arrange, arrange_hits
from app.ui.theme import Role, color

SEARCH_DELAY_MS = 120  # a pause in typing


class Sidebar(QWidget):
    """Every conversation. It acts on the library; what is shown beside it is the window's affair.

    Signals: see the comment of each.
    """

    # str, str | None: show this conversation, and this message of it
    chosen = Signal(str, object)
    # QMenu, tuple[str, ...]: a menu for these conversations opens; add what can be done with them
    menu_opening = Signal(object, object)
    # the search field or the list was left with Escape or Return
    left = Signal()

    def __init__(self, library: LibraryController, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._library = library
        self._folded: set[str] = set()
        self._hits: SearchResults | None = None
        self._known_folders: set[str] | None = None  # while one that was asked for is awaited
        self.setAccessibleName(self.tr("Conversations"))
        self.search = SearchField(self.tr("Search conversations"))
        self.search.installEventFilter(self)
        self.list = RowList()
        self.list.setAccessibleName(self.tr("Conversations"))
        self._nothing = Label(role=Role.TERTIARY, size=theme.CAPTION, wrap=True)
        self._pause = QTimer(self, singleShot=True, interval=SEARCH_DELAY_MS)
        self._midnight = QTimer(self, interval=60_000)  # "Today" becomes "Yesterday"
        self._lay_out()
        self._connect()

    @property
    def folded(self) -> frozenset[str]:
        """Ids of the folders shown folded, to be restored with the window."""
        return frozenset(self._folded)

    def restore_folded(self, folder_ids: frozenset[str]) -> None:
        """Fold these folders."""
        self._folded = set(folder_ids)
        self._arrange()

    def focus_search(self) -> None:
        """Put the keyboard into the search field."""
        self.search.setFocus()
        self.search.selectAll()

    def first_titles(self, count: int) -> list[str]:
        """Titles of the first conversations of the list."""
        return [row.title for row in self.list.rows() if isinstance(row, ChatRow)][:count]

    def select_place(self, place: int) -> None:
        """Show the conversation at this place of the list, from 0."""
        chats = [row for row in self.list.rows() if isinstance(row, ChatRow)]
        if place < len(chats):
            self.list.choose(chats[place])

    @property
    def has_conversations(self) -> bool:
        """Whether there is anything to step through."""
        return any(isinstance(row, ChatRow) for row in self.list.rows())

    def add_folder(self) -> None:
        """A new folder, whose name is edited at once."""
        self.search.clear()
        self._search_now()
        self._known_folders = {folder.id for folder in self._library.library.folders}
        self._library.create_folder(self.tr("New Folder"))

    def rename(self, conversation_id: str) -> None:
        """Edit a conversation's title in place."""
        row = self._row(lambda row: getattr(row, "conversation_id", None) == conversation_id)
        if row is not None:
            self._edit(row)

    def rename_folder(self, folder_id: str) -> None:
        """Edit a folder's name in place."""
        row = self._row(lambda row: isinstance(row, SectionRow) and row.key == folder_id)
        if row is not None:
            self._edit(row)

    # Arranging

    def _arrange(self) -> None:
        now = datetime.now()
        if self._hits is not None:
            rows = arrange_hits(self._hits, now)
            nothing = self.tr("Nothing found.")
        else:
            rows = arrange(self._library.library, now, self._folded)
            nothing = self.tr("Your conversations will be listed here.")
        self.list.show_rows(rows)
        self._nothing.setText(nothing)
        self._nothing.setVisible(not rows)

    def _on_changed(self, library: Library) -> None:
        folder_ids = {folder.id for folder in library.folders}
        self._folded &= folder_ids
        self._arrange()
        if self._known_folders is not None and (added := folder_ids - self._known_folders):
            self._known_folders = None
            self.rename_folder(added.pop())

    def _search_now(self) -> None:
        query = self.search.text().strip()
        if query:
            self._library.search(query)
        elif self._hits is not None:
            self._hits = None
            self._arrange()

    def _on_found(self, results: SearchResults) -> None:
        if results.query.strip() == self.search.text().strip():
            self._hits = results
            self._arrange()

    def _toggle_folder(self, row: SectionRow) -> None:
        if row.is_folder:
            self._folded ^= {row.key}
            self._arrange()

    # Renaming

    def _row(self, wanted: Callable[[Row], bool]) -> Row | None:
        return next((row for row in self.list.rows() if wanted(row)), None)

    def _edit(self, row: Row) -> None:
        if isinstance(row, SectionRow) and not row.is_folder:
            return
        self.list.reveal(row)
        editor = RenameEditor(self.list, row)
        editor.renamed.connect(lambda name: self._rename(row, name))

    def _rename(self, row: Row, name: str) -> None:
        if isinstance(row, ChatRow):
            self._library.rename(row.conversation_id, name)
        elif name:
            self._library.rename_folder(row.key, name)

    # Menus

    def _open_menu(self, row: Row, position: QPoint) -> None:
        menu = QMenu(self)
        if isinstance(row, ChatRow):
            self.menu_opening.emit(menu, self.list.selected())
        elif row.is_folder:
            self._fill_folder_menu(menu, row)
        menu.aboutToHide.connect(menu.deleteLater)
        if menu.actions():
            menu.popup(position)

    def _fill_folder_menu(self, menu: QMenu, row: SectionRow) -> None:
        menu.addAction(self.tr("Rename Folder")).triggered.connect(lambda: self._edit(row))
        delete = menu.addAction(self.tr("Delete Folder and Its Conversations"))
        delete.triggered.connect(lambda: self._library.delete_folder(row.key))

    # Building

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, MARGIN, 0, 0)
        column.setSpacing(theme.SPACE)
        head = QVBoxLayout()
        head.setContentsMargins(MARGIN, 0, MARGIN, 0)
        head.addWidget(self.search)
        head.addWidget(self._nothing)
        column.addLayout(head)
        column.addWidget(self.list, 1)

    def _connect(self) -> None:
        self._library.changed.connect(self._on_changed)
        self._library.active_changed.connect(self.list.set_active)
        self._library.search_finished.connect(self._on_found)
        self.search.textChanged.connect(lambda: self._pause.start())
        self._pause.timeout.connect(self._search_now)
        self._midnight.timeout.connect(self._arrange)
        self._midnight.start()
        self.list.chosen.connect(lambda row: self.chosen.emit(row.conversation_id, row.message_id))
        self.list.section_pressed.connect(self._toggle_folder)
        self.list.rename_wanted.connect(self._edit)
        self.list.menu_wanted.connect(self._open_menu)
        self.list.moved.connect(self._library.move)
        self.list.delete_wanted.connect(self._library.delete)
        self.list.left.connect(self.left)
        self._arrange()

    def eventFilter(self, watched: QWidget, event: QEvent) -> bool:  # type: ignore[override]
        """In the search field Down goes to the list, Return to the first hit, Escape back."""
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return False
        return self._search_key(event)

    def _search_key(self, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_Down:
            self.list.setFocus(Qt.FocusReason.TabFocusReason)
            self.list.step(1)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.select_place(0)
        elif event.key() == Qt.Key.Key_Escape:
            self.search.clear()
            self._search_now()
            self.left.emit()
        else:
            return False
        return True

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(event.rect(), color(Role.SIDEBAR))
