"""ComposerText: the field in which a message is written. It grows with its text.

Return sends, Shift-Return and Option-Return break the line; or Return breaks and Command-Return
sends. While an input method composes, every key is the input method's.
"""

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QInputMethodEvent, QKeyEvent, QKeySequence, QPalette
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy, QWidget

from app.ui import theme
from app.ui.scroll_bar import use_thin_scroll_bar
from app.ui.theme import Role

MOST_LINES = 8

_RETURNS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_MARGIN = 2.0  # px of the document, on every side


class ComposerText(QPlainTextEdit):
    """A plain text field.

    Signals:
        sent: the person wants to send the message.
        cancelled: Esc or Command-period was pressed.
        files_given (list[Path]): files were dropped or pasted.
    """

    sent = Signal()
    cancelled = Signal()
    files_given = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        use_thin_scroll_bar(self)
        self.return_sends = True
        self._is_composing = False
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName(self.tr("Message"))
        self.setPlaceholderText(self.tr("Message…"))
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(_MARGIN)
        self.document().documentLayout().documentSizeChanged.connect(self.updateGeometry)
        self.set_scale(1.0)
        self._tint()

    def set_scale(self, scale: float) -> None:
        """Show the text so many times as large."""
        self.setFont(theme.font(theme.READING, scale=scale))
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        lines = min(max(int(self.document().size().height()), 1), MOST_LINES)
        line = QFontMetrics(self.font()).lineSpacing()
        self.setVerticalScrollBarPolicy(
            Qt.ScrollBarPolicy.ScrollBarAsNeeded
            if self.document().size().height() > MOST_LINES
            else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        )
        return QSize(200, int(lines * line + 2 * _MARGIN))

    def minimumSizeHint(self) -> QSize:
        return QSize(80, self.sizeHint().height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        composing = self._is_composing or self._has_preedit()
        if composing and (event.key() in _RETURNS or _cancels(event)):
            event.accept()  # meant for the input method, which should have taken it
        elif composing:
            super().keyPressEvent(event)
        elif event.key() in _RETURNS:
            self._press_return(event)
        elif _cancels(event):
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._is_composing = bool(event.preeditString())
        super().inputMethodEvent(event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return bool(files_in(source)) or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        if files := files_in(source):
            self.files_given.emit(files)
        else:
            super().insertFromMimeData(source)

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()
        super().changeEvent(event)

    def _press_return(self, event: QKeyEvent) -> None:
        held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        command = bool(held & Qt.KeyboardModifier.ControlModifier)
        plain = held == Qt.KeyboardModifier.NoModifier
        if command or (plain and self.return_sends):
            self.sent.emit()
        else:
            self.textCursor().insertBlock()
            self.ensureCursorVisible()

    def _has_preedit(self) -> bool:
        return bool(self.textCursor().block().layout().preeditAreaText())

    def _tint(self) -> None:
        """Let the ground of the card show through."""
        palette = self.palette()
        ground = theme.color(Role.CODE)
        if palette.color(QPalette.ColorRole.Base) != ground:
            palette.setColor(QPalette.ColorRole.Base, ground)
            palette.setColor(QPalette.ColorRole.PlaceholderText, theme.color(Role.TERTIARY))
            self.setPalette(palette)


def _cancels(event: QKeyEvent) -> bool:
    period = event.key() == Qt.Key.Key_Period and event.modifiers() == (
        Qt.KeyboardModifier.ControlModifier
    )
    return period or event.matches(QKeySequence.StandardKey.Cancel)


def files_in(source: QMimeData) -> list[Path]:
    """The files on this machine that are carried; none if anything else is."""
    urls = source.urls()
    if not urls or not all(url.isLocalFile() for url in urls):
        return []
    return [Path(url.toLocalFile()) for url in urls]
