"""EditorView: a person's words, while they are changed in place."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontMetrics, QKeyEvent
from PySide6.QtWidgets import QPlainTextEdit, QPushButton, QWidget

from app.ui.transcript.page import Page
from app.ui.transcript.piece import Piece
from app.ui.transcript.piece_view import ActingView
from app.ui.transcript.turn_action import TurnAction

MOST_LINES = 12


class EditorView(ActingView):
    """A text field with Send and Cancel; Command-Return sends, Esc cancels."""

    def __init__(self, page: Page, parent: QWidget) -> None:
        super().__init__(page, parent)
        self._field = _Field(self)
        self._field.setFont(page.reading_font)
        self._field.setAccessibleName(self.tr("Your message"))
        self._send = QPushButton(self.tr("Send"), self)
        self._cancel = QPushButton(self.tr("Cancel"), self)
        self._send.clicked.connect(self._finish)
        self._cancel.clicked.connect(lambda: self.acted.emit(TurnAction.STOP_EDITING))
        self._field.textChanged.connect(self._changed)

    def fill(self, piece: Piece) -> None:
        assert piece.message is not None
        self._field.setPlainText(self.page.edits.get(piece.message.id, piece.text))
        self._field.moveCursor(self._field.textCursor().MoveOperation.End)

    def fit(self, width: int) -> int:
        gap = self.page.px(2)
        line = QFontMetrics(self._field.font()).lineSpacing()
        self._field.resize(width, self._field.height())
        lines = min(max(self._field.document().size().height(), 2), MOST_LINES)
        height = int(lines * line) + 2 * gap
        self._field.setGeometry(0, 0, width, height)
        x = width
        for button in (self._send, self._cancel):
            hint: QSize = button.sizeHint()
            x -= hint.width()
            button.setGeometry(x, height + gap, hint.width(), hint.height())
            x -= gap
        return height + gap + self._send.sizeHint().height()

    def take_focus(self) -> None:
        """Let the person type at once."""
        self._field.setFocus(Qt.FocusReason.OtherFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.acted.emit(TurnAction.STOP_EDITING)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and (
            event.modifiers() & Qt.KeyboardModifier.ControlModifier
        ):
            self._finish()
        else:
            super().keyPressEvent(event)

    def _changed(self) -> None:
        assert self.piece is not None
        assert self.piece.message is not None
        self.page.edits[self.piece.message.id] = self._field.toPlainText()
        self.resized.emit()

    def _finish(self) -> None:
        if text := self._field.toPlainText().strip():
            self.edited.emit(text)


class _Field(QPlainTextEdit):
    """Leaves Esc and Command-Return to the editor, unless an input method is composing."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        composing = bool(self.textCursor().block().layout().preeditAreaText())
        is_return = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        sends = is_return and event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if not composing and (sends or event.key() == Qt.Key.Key_Escape):
            event.ignore()
        else:
            super().keyPressEvent(event)
