"""Data & Folders: where conversations, logs and models lie."""

from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QListWidget,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.settings import Settings
from app.settings_store import SettingsStore
from app.ui.label import Label
from app.ui.settings.page import FIELD_WIDTH, SettingsPage
from app.ui.theme import SPACE


def reveal(folder: Path) -> None:
    """Show a folder in the system's file browser."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))


class FoldersPage(SettingsPage):
    """Folders of the application, and those in which models are looked for."""

    def __init__(
        self, store: SettingsStore, data: Path, logs: Path, parent: QWidget | None = None
    ) -> None:
        super().__init__(self.tr("Data & Folders"), "drive", parent)
        self._store = store
        self._add_folder_row(self.tr("Conversations:"), data)
        self._add_folder_row(self.tr("Logs:"), logs)
        self._list = QListWidget()
        self._list.setFixedSize(FIELD_WIDTH, 24 * SPACE)
        self._list.itemSelectionChanged.connect(self._enable)
        self._add = QPushButton(self.tr("Add…"))
        self._add.clicked.connect(self._ask_folder)
        self._remove = QPushButton(self.tr("Remove"))
        self._remove.clicked.connect(self._remove_selected)
        self._lay_out()
        store.changed.connect(self.show_settings)
        self.show_settings(store.settings)

    def show_settings(self, settings: Settings) -> None:
        """Show the settings in force."""
        shown = [self._list.item(row).text() for row in range(self._list.count())]
        if shown != list(settings.model_folders):
            self._list.clear()
            self._list.addItems(settings.model_folders)
        self._enable()

    def add_folder(self, folder: str) -> None:
        """Look for models in another folder, too."""
        folders = self._store.settings.model_folders
        if folder and folder not in folders:
            self._store.update(model_folders=(*folders, folder))

    def _ask_folder(self) -> None:
        sheet = QFileDialog(self, self.tr("Add a Folder of Models"))
        sheet.setFileMode(QFileDialog.FileMode.Directory)
        sheet.fileSelected.connect(self.add_folder)
        sheet.finished.connect(sheet.deleteLater)
        sheet.open()

    def _remove_selected(self) -> None:
        gone = {item.text() for item in self._list.selectedItems()}
        folders = self._store.settings.model_folders
        self._store.update(model_folders=tuple(f for f in folders if f not in gone))

    def _enable(self) -> None:
        self._remove.setEnabled(bool(self._list.selectedItems()))

    def _add_folder_row(self, label: str, folder: Path) -> None:
        row = QWidget()
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        path = Label(str(folder), wrap=True)
        path.setFixedWidth(FIELD_WIDTH - 26 * SPACE)
        button = QPushButton(self.tr("Reveal"))
        button.setAccessibleDescription(str(folder))
        button.clicked.connect(lambda: reveal(folder))
        line.addWidget(path, 1)
        line.addWidget(button)
        row.setFixedWidth(FIELD_WIDTH)
        self.add_row(label, row)

    def _lay_out(self) -> None:
        field = QWidget()
        column = QVBoxLayout(field)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._list)
        buttons = QHBoxLayout()
        buttons.addWidget(self._add)
        buttons.addWidget(self._remove)
        buttons.addStretch(1)
        column.addLayout(buttons)
        self.add_row(self.tr("Folders of models:"), field)
        self._list.setAccessibleName(self.tr("Folders of models"))
        self.add_note(self.tr("Removing a folder from this list leaves its files alone."))
        self.column.addStretch(1)
