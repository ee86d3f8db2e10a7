"""ConversationPane: the transcript or, while there is none, the start page; the composer below."""

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from app.blocks.typesetter import Typesetter
from app.chat_controller import ChatController
from app.settings import Settings
from app.settings_store import SettingsStore
from app.ui.composer import Composer
from app.ui.find_bar import FindBar
from app.ui.start_page import StartPage
from app.ui.transcript import TranscriptView
from app.ui.transcript.column import Anchor
from app.ui.transcript.turn_action import TurnAction


class ConversationPane(QWidget):
    """The middle of a window.

    Signals: see the comment of each.
    """

    # str: where the link under the pointer leads; "" for none
    link_hovered = Signal(str)

    def __init__(
        self,
        chat: ChatController,
        settings: SettingsStore,
        typesetter: Typesetter,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._chat = chat
        self._expected = ""  # the conversation that is being opened
        self._place: Anchor | None = None  # to return to in it
        self.start = StartPage()
        self.transcript = TranscriptView(chat, typesetter=typesetter)
        self.composer = Composer(chat)
        self.find_bar = FindBar(chat)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.start)
        self._stack.addWidget(self.transcript)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.find_bar)
        column.addWidget(self._stack, 1)
        column.addWidget(self.composer)
        self._connect(settings)

    @property
    def has_transcript(self) -> bool:
        """Whether anything was said in this conversation."""
        return bool(self._chat.messages)

    @property
    def place(self) -> Anchor | None:
        """Where in the conversation the reader is; None at its end."""
        return self.transcript.place if self.has_transcript else None

    def expect(self, conversation_id: str, place: Anchor | None = None) -> None:
        """This conversation is being opened: show nothing until it is there, then this place.

        With "" nothing is expected any more.
        """
        self._expected = conversation_id
        self._place = place
        self._show_side()

    def focus_composer(self) -> None:
        """Put the keyboard where one writes."""
        self.composer.take_focus()

    def choose_files(self) -> None:
        """Ask for files to attach."""
        self.composer.choose_files()

    # What the Edit menu does, on the transcript

    def copy(self) -> None:
        """Copy what is selected."""
        self.transcript.copy()

    def copy_plain(self) -> None:
        """Copy what is selected, without marks and formats."""
        self.transcript.copy_plain()

    def select_all(self) -> None:
        """Select all messages."""
        self.transcript.select_all()

    def open_find(self) -> None:
        """Look for words in this conversation."""
        self.find_bar.open_bar()

    def find_next(self, delta: int) -> None:
        """Go to the next place of the words, or to the one before."""
        if self.find_bar.isHidden():
            self.find_bar.open_bar()
        else:
            self.find_bar.step(delta)

    def find_selection(self) -> None:
        """Look for the words that are selected."""
        self.find_bar.open_bar(self.transcript.selected_text)

    def copy_message(self, message_id: str) -> None:
        """Copy a whole message."""
        self.transcript.act(message_id, TurnAction.COPY)

    def _connect(self, settings: SettingsStore) -> None:
        self.start.asked.connect(self._chat.send)
        self._chat.messages_reset.connect(self._on_opened)
        self._chat.branch_changed.connect(self._show_side)
        self.find_bar.words_changed.connect(self.transcript.look_for)
        self.find_bar.found.connect(self.transcript.show_found)
        self.find_bar.closed.connect(self.transcript.setFocus)
        self.composer.message_sent.connect(self.transcript.scroll_to_end)
        self.transcript.link_activated.connect(self._open_link)
        self.transcript.link_hovered.connect(self.link_hovered)
        settings.changed.connect(self._on_settings)
        self._on_settings(settings.settings)
        self._show_side()

    def _on_settings(self, settings: Settings) -> None:
        self.transcript.set_text_size(settings.text_size)
        self.transcript.set_reasoning_open(settings.reasoning_open)
        self.composer.set_text_size(settings.text_size)
        self.composer.set_return_sends(settings.return_sends)

    def _on_opened(self) -> None:
        opened = self._chat.conversation
        if opened is not None and opened.id == self._expected:
            place, self._expected = self._place, ""
            if place is not None and self.has_transcript:
                self.transcript.go_to(place)
        self._show_side()

    def _show_side(self) -> None:
        is_start = not self.has_transcript and not self._expected
        self._stack.setCurrentWidget(self.start if is_start else self.transcript)

    def _open_link(self, url: QUrl) -> None:
        QDesktopServices.openUrl(url)
