"""DeletedSheet: Recently Deleted. Conversations stay 30 days; they can be had back or erased."""

from collections.abc import Sequence
from datetime import datetime

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.conversation import Conversation
from app.library_controller import LibraryController
from app.ui import sheets, theme
from app.ui.label import Label
from app.ui.row_list import RowList
from app.ui.sidebar_rows import ChatRow, when
from app.ui.theme import SPACE, Role


class DeletedSheet(QDialog):
    """Lists what was deleted, latest first."""

    def __init__(self, library: LibraryController, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._library = library
        self.setWindowTitle(self.tr("Recently Deleted"))
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._list = RowList()
        self._list.setAccessibleName(self.tr("Recently deleted conversations"))
        self._list.setAcceptDrops(False)
        self._list.selection_changed.connect(self._enable)
        self._nothing = Label(self.tr("Nothing here."), role=Role.TERTIARY)
        self._restore = QPushButton(self.tr("Restore"))
        self._restore.clicked.connect(lambda: library.restore(self._list.selected()))
        self._erase = QPushButton(self.tr("Erase Now…"))
        self._erase.clicked.connect(self._ask_erase)
        self._lay_out()
        library.deleted_listed.connect(self._show)
        library.changed.connect(self._refresh)
        self.resize(120 * SPACE, 100 * SPACE)
        library.list_deleted()

    def _refresh(self) -> None:
        self._library.list_deleted()

    def _show(self, conversations: Sequence[Conversation]) -> None:
        now = datetime.now()
        rows = [
            ChatRow(c.id, c.title, when(c.deleted_at or c.updated_at, now)) for c in conversations
        ]
        self._list.show_rows(rows)
        self._nothing.setVisible(not rows)
        self._enable()

    def _enable(self) -> None:
        for button in (self._restore, self._erase):
            button.setEnabled(bool(self._list.selected()))

    def _ask_erase(self) -> None:
        ids = self._list.selected()
        sheets.ask(
            self,
            self.tr("Erase %n conversation(s) for good?", "", len(ids)),
            self.tr("Their words are removed from the disk now. This cannot be taken back."),
            self.tr("Erase"),
            lambda: self._library.erase(ids),
        )

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(4 * SPACE, 4 * SPACE, 4 * SPACE, 4 * SPACE)
        column.setSpacing(3 * SPACE)
        words = self.tr("Deleted conversations are kept for 30 days.")
        column.addWidget(Label(words, role=Role.SECONDARY, size=theme.CAPTION))
        column.addWidget(self._nothing)
        column.addWidget(self._list, 1)
        row = QHBoxLayout()
        row.addWidget(self._erase)
        row.addStretch(1)
        row.addWidget(self._restore)
        done = QPushButton(self.tr("Done"))
        done.setDefault(True)
        done.clicked.connect(self.accept)
        row.addWidget(done)
        for button in (self._erase, self._restore):
            button.setAutoDefault(False)
        column.addLayout(row)
