"""Attention: what ended while another program is in front, an answer or a download, is counted.

The count stands in the Dock until the application is looked at.
"""

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from app.workspace import Workspace


class Attention(QObject):
    """Counts up as answers and downloads end, and down to nothing when it is looked at."""

    def __init__(self, qt: QApplication, workspace: Workspace, parent: QObject) -> None:
        super().__init__(parent)
        self._qt = qt
        self._settings = workspace.settings
        self._active: frozenset[str] = frozenset()  # conversations with an answer to come
        self._unseen = 0
        workspace.library.active_changed.connect(self._on_active)
        workspace.downloads.installed.connect(self._on_installed)
        qt.applicationStateChanged.connect(self._on_state)

    def _on_active(self, active: frozenset[str]) -> None:
        ended = self._active - active
        self._active = active
        if ended:
            self._call_for(len(ended))

    def _on_installed(self, _path: str) -> None:
        self._call_for(1)

    def _call_for(self, ended: int) -> None:
        in_front = QGuiApplication.applicationState() == Qt.ApplicationState.ApplicationActive
        if not in_front and self._settings.settings.notify_when_done:
            self._count(self._unseen + ended)
            for window in self._qt.topLevelWidgets():
                QApplication.alert(window)  # only those that are shown

    def _on_state(self, state: Qt.ApplicationState) -> None:
        if state == Qt.ApplicationState.ApplicationActive:
            self._count(0)

    def _count(self, unseen: int) -> None:
        if unseen != self._unseen:
            self._unseen = unseen
            self._qt.setBadgeNumber(unseen)
