"""Attention: what ended while another program is in front, an answer or a download, is counted.

The count stands in the Dock until the application is looked at. A model that has arrived, which may
have taken hours, is told in a banner, too.
"""

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from app.installed_models import model_name
from app.ui.desktop_notice import DesktopNotice
from app.workspace import Workspace


class Attention(QObject):
    """Counts up as answers and downloads end, and down to nothing when it is looked at.

    Signals: see the comment of each.
    """

    # a person wants to see the model that has arrived
    models_wanted = Signal()

    def __init__(self, qt: QApplication, workspace: Workspace, parent: QObject) -> None:
        super().__init__(parent)
        self._qt = qt
        self._settings = workspace.settings
        self._active: frozenset[str] = frozenset()  # conversations with an answer to come
        self._unseen = 0
        self._notice = DesktopNotice(self)
        self._notice.clicked.connect(self.models_wanted)
        workspace.library.active_changed.connect(self._on_active)
        workspace.downloads.installed.connect(self._on_installed)
        qt.applicationStateChanged.connect(self._on_state)

    def _on_active(self, active: frozenset[str]) -> None:
        ended = self._active - active
        self._active = active
        if ended and self._is_wanted():
            self._call_for(len(ended))

    def _on_installed(self, path: str) -> None:
        if self._is_wanted():
            self._call_for(1)
            said = self.tr("“%1” is here").replace("%1", model_name(path))
            self._notice.show(said, self.tr("Every byte is checked; it can be used now."))

    def _is_wanted(self) -> bool:
        in_front = QGuiApplication.applicationState() == Qt.ApplicationState.ApplicationActive
        return not in_front and self._settings.settings.notify_when_done

    def _call_for(self, ended: int) -> None:
        self._count(self._unseen + ended)
        for window in self._qt.topLevelWidgets():
            QApplication.alert(window)  # only those that are shown

    def _on_state(self, state: Qt.ApplicationState) -> None:
        if state == Qt.ApplicationState.ApplicationActive:
            self._count(0)
            self._notice.end()

    def _count(self, unseen: int) -> None:
        if unseen != self._unseen:
            self._unseen = unseen
            self._qt.setBadgeNumber(unseen)
