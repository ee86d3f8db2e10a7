"""ConversationPane: the transcript or, while there is none, the start page; the composer below."""

from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from app.chat_controller import ChatController
from app.settings_store import SettingsStore
from app.ui.start_page import StartPage


class ConversationPane(QWidget):
    """The middle of a window."""

    def __init__(
        self, chat: ChatController, settings: SettingsStore, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.start = StartPage()
        self._stack = QStackedWidget()
        self._stack.addWidget(self.start)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._stack, 1)
        self.start.asked.connect(lambda prompt: chat.send(prompt))

    has_transcript = False

    def focus_composer(self) -> None:
        pass

    def copy(self) -> None:
        pass

    def copy_plain(self) -> None:
        pass

    def select_all(self) -> None:
        pass

    def open_find(self) -> None:
        pass

    def find_next(self, delta: int) -> None:
        pass

    def find_selection(self) -> None:
        pass

    def copy_message(self, message_id: str) -> None:
        pass
