"""CopyButton: a quiet button that says for a moment that it has copied."""

from PySide6.QtCore import QTimer
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QWidget

from app.ui.transcript.quiet_button import QuietButton

COPIED_MS = 1500


class CopyButton(QuietButton):
    """Copies nothing itself: whoever owns it listens to `clicked`."""

    def __init__(
        self, parent: QWidget, *, name: str, icon: str = "", text: str = "", font: QFont
    ) -> None:
        super().__init__(parent, icon=icon, text=text, name=name, font=font)
        self._usual = (icon, text)
        self._moment = QTimer(self)
        self._moment.setSingleShot(True)
        self._moment.setInterval(COPIED_MS)
        self._moment.timeout.connect(lambda: self.show_label(*self._usual))
        self.clicked.connect(self._confirm)
        self._reserve_room()

    def _confirm(self) -> None:
        self.show_label(*self._confirmation())
        self._moment.start()

    def _confirmation(self) -> tuple[str, str]:
        icon, text = self._usual
        return ("check" if icon else "", self.tr("Copied") if text else "")

    def _reserve_room(self) -> None:
        """Be wide enough for both, so that nothing moves."""
        width = self.sizeHint().width()
        self.show_label(*self._confirmation())
        self.setFixedWidth(max(width, self.sizeHint().width()))
        self.show_label(*self._usual)
