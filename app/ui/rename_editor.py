"""RenameEditor: a line edit laid over a row of the sidebar while its name is changed."""

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QLineEdit

from app.ui.row_list import RowList
from app.ui.sidebar_rows import Row


class RenameEditor(QLineEdit):
    """Return or leaving it takes the new name, Escape or scrolling away keeps the old one.

    Signals:
        renamed: the new name, if it differs from the old one.
    """

    renamed = Signal(str)

    def __init__(self, rows: RowList, row: Row) -> None:
        super().__init__(row.title, rows.viewport())
        self._before = row.title
        self._done = False
        self.setAccessibleName(self.tr("New name"))
        self.setGeometry(rows.rectangle(row).adjusted(0, 2, 0, -2))
        rows.verticalScrollBar().valueChanged.connect(self._abandon)
        self.returnPressed.connect(self._take)
        self.selectAll()
        self.show()
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    def _take(self) -> None:
        name = self.text().strip()
        if self._close() and name != self._before:
            self.renamed.emit(name)

    def _abandon(self) -> None:
        self._close()

    def _close(self) -> bool:
        """Whether it was still open."""
        if self._done:
            return False
        self._done = True
        self.hide()
        self.deleteLater()
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self._abandon()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self._take()

    def event(self, event: QEvent) -> bool:
        """Escape is ours: not the window's shortcut for Stop."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            event.accept()
            return True
        return super().event(event)
