"""Commands of the Edit menu: they act on whatever has the keyboard, as the system's own do."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication, QLineEdit, QPlainTextEdit, QTextEdit

if TYPE_CHECKING:
    from app.ui.main_window import MainWindow

TextWidget = QLineEdit | QPlainTextEdit | QTextEdit


class EditCommands:
    """Undo, clipboard and find of one window."""

    def __init__(self, window: "MainWindow") -> None:
        self._window = window

    def available(self) -> Iterator[str]:
        """Names of the commands that make sense now."""
        text = self._text()
        yield from ("copy", "copy_plain", "select_all", "search_chats")
        if text is not None and not text.isReadOnly():
            yield from ("undo", "redo", "cut", "paste")
        if self._window.pane.has_transcript:
            yield from ("find", "find_next", "find_previous", "find_selection")

    def undo(self) -> None:
        """Take the last change of the text back."""
        if text := self._text():
            text.undo()

    def redo(self) -> None:
        """Make it again."""
        if text := self._text():
            text.redo()

    def cut(self) -> None:
        """Move the selected text to the clipboard."""
        if text := self._text():
            text.cut()

    def copy(self) -> None:
        """Copy the selected text, or what is selected of the conversation."""
        text = self._text()
        if text is not None:
            text.copy()
        else:
            self._window.pane.copy()

    def copy_plain(self) -> None:
        """Copy what is selected of the conversation without formatting."""
        self._window.pane.copy_plain()

    def paste(self) -> None:
        """Insert the clipboard's text; into the composer if nothing else can take it."""
        text = self._text()
        if text is None or text.isReadOnly():
            self._window.pane.focus_composer()
            text = self._text()
        if text is not None:
            text.paste()

    def select_all(self) -> None:
        """Select all of the text, or of the conversation."""
        text = self._text()
        if text is not None:
            text.selectAll()
        else:
            self._window.pane.select_all()

    def find(self) -> None:
        """Look for words in this conversation."""
        self._window.pane.open_find()

    def find_next(self) -> None:
        """Go to the next place."""
        self._window.pane.find_next(1)

    def find_previous(self) -> None:
        """Go to the place before."""
        self._window.pane.find_next(-1)

    def find_selection(self) -> None:
        """Look for the words that are selected."""
        self._window.pane.find_selection()

    def search_chats(self) -> None:
        """Look for words in all conversations."""
        self._window.panels.show_sidebar(True)
        self._window.sidebar.focus_search()

    def _text(self) -> TextWidget | None:
        """The text widget that has the keyboard, be it in Settings or a sheet."""
        focus = QApplication.focusWidget()
        return focus if isinstance(focus, TextWidget) else None
