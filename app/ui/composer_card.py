"""ComposerCard: the rounded ground of the composer; takes files that are dropped on it."""

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QWidget

from app.ui import theme
from app.ui.composer_text import files_in
from app.ui.theme import Role


class ComposerCard(QWidget):
    """Its owner lays out what is on it.

    Signals:
        files_given (list[Path]): files were dropped.
    """

    files_given = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._is_target = False
        self.setAcceptDrops(True)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if files_in(event.mimeData()):
            event.acceptProposedAction()
            self._set_target(True)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._set_target(False)

    def dropEvent(self, event: QDropEvent) -> None:
        self._set_target(False)
        if files := files_in(event.mimeData()):
            event.acceptProposedAction()
            self.files_given.emit(files)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        card = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        accent = QPen(theme.color(Role.ACCENT), 2)
        painter.setPen(accent if self._is_target else QPen(theme.color(Role.LINE)))
        painter.setBrush(theme.color(Role.CODE))
        painter.drawRoundedRect(card, theme.RADIUS_BUBBLE, theme.RADIUS_BUBBLE)

    def _set_target(self, is_target: bool) -> None:
        self._is_target = is_target
        self.update()
