"""DesktopNotice: a banner of the system's own, for what a person waited for in another program.

Qt shows one through an icon in the menu bar, which is there only as long as the banner is.
"""

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QApplication, QSystemTrayIcon

SHOWN_MS = 6000


class DesktopNotice(QObject):
    """Shows nothing where the system has no such thing.

    Signals: see the comment of each.
    """

    # the banner was clicked
    clicked = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._icon: QSystemTrayIcon | None = None
        self._ending = QTimer(self, singleShot=True, interval=SHOWN_MS)
        self._ending.timeout.connect(self.end)

    def show(self, title: str, text: str) -> None:
        """One banner; another takes the place of the one before."""
        if not (QSystemTrayIcon.isSystemTrayAvailable() and QSystemTrayIcon.supportsMessages()):
            return
        if self._icon is None:
            self._icon = QSystemTrayIcon(QApplication.windowIcon(), self)
            self._icon.messageClicked.connect(self._on_clicked)
        self._icon.show()
        self._icon.showMessage(title, text, QApplication.windowIcon(), SHOWN_MS)
        self._ending.start()

    def end(self) -> None:
        """Take the icon away."""
        self._ending.stop()
        if self._icon is not None:
            self._icon.hide()

    def _on_clicked(self) -> None:
        self.end()
        self.clicked.emit()
