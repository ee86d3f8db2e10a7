"""FindBar: looks for words in the messages that are shown, and goes from place to place."""

from itertools import takewhile

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QToolButton, QWidget

from app.blocks.readable import count_of, count_readable
from app.chat_controller import ChatController
from app.conversation import Message
from app.ui import figures, theme
from app.ui.label import Label
from app.ui.search_field import SearchField
from app.ui.theme import SPACE, Role, color

FIELD_WIDTH = 60 * SPACE

Place = tuple[str, int]  # a message's id, and the number of a place in it


class FindBar(QWidget):
    """Hidden until it is opened.

    Signals: see the comment of each.
    """

    # str: mark these words; "" for none
    words_changed = Signal(str)
    # str, int: show this place: a message's id, and the place's number in it
    found = Signal(str, int)
    # the bar was closed; the keyboard is free
    closed = Signal()

    def __init__(self, chat: ChatController, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._chat = chat
        self._at: Place | None = None  # that was shown last
        self._known: dict[str, tuple[str, int]] = {}  # id -> the message's text, places in it
        self.field = SearchField(self.tr("Find in this conversation"))
        self.field.setFixedWidth(FIELD_WIDTH)
        self.field.textChanged.connect(self._search)
        self.field.installEventFilter(self)
        self._count = Label(role=Role.SECONDARY, size=theme.CAPTION, tabular=True)
        self._previous = self._step_button("chevron-left", self.tr("Previous"), -1)
        self._next = self._step_button("chevron-right", self.tr("Next"), 1)
        self._lay_out()
        self.hide()
        chat.messages_reset.connect(self.close_bar)
        chat.branch_changed.connect(self._show_count)
        chat.message_changed.connect(self._show_count)

    def open_bar(self, words: str = "") -> None:
        """Show the bar with the keyboard in it; with `words`, look for them."""
        self.show()
        if words:
            self.field.setText(words)
        self.words_changed.emit(self.field.text())
        self.field.setFocus()
        self.field.selectAll()
        self._show_count()

    def close_bar(self) -> None:
        """Hide it."""
        if not self.isHidden():
            self.hide()
            self.words_changed.emit("")
            self.closed.emit()

    def step(self, delta: int) -> None:
        """Go to the next place of the words, or to the one before; round at the ends."""
        counts = self._counts()
        total = sum(counts.values())
        if total:
            at = self._number(counts)
            start = -1 if delta > 0 else 0  # from outside: the first place, or the last
            self._at = _place((start if at is None else at) + delta, total, counts)
            self._show_count()
            self.found.emit(*self._at)

    def _search(self) -> None:
        self._at = None
        self._known.clear()
        self.words_changed.emit(self.field.text())
        self.step(-1)  # the latest one first: it is nearest to where one reads
        self._show_count()

    def _counts(self) -> dict[str, int]:
        """Places in each message that has any, in the order of the messages."""
        counted = ((message.id, self._count_in(message)) for message in self._chat.messages)
        return {id: count for id, count in counted if count}

    def _count_in(self, message: Message) -> int:
        """Places in a message; of a long conversation, only what changed is searched again."""
        known = self._known.get(message.id)
        if known is None or known[0] != message.text:
            count = count_of if message.role == "user" else count_readable
            known = (message.text, count(self.field.text(), message.text))
            self._known[message.id] = known
        return known[1]

    def _number(self, counts: dict[str, int]) -> int | None:
        """Which of all places was shown last; None if it is none of them any more."""
        if self._at is None or self._at[1] >= counts.get(self._at[0], 0):
            return None
        shown, number = self._at
        before = takewhile(lambda item: item[0] != shown, counts.items())
        return sum(count for _, count in before) + number

    def _show_count(self) -> None:
        if self.isHidden():
            return
        counts = self._counts()
        for button in (self._previous, self._next):
            button.setEnabled(sum(counts.values()) > 1)
        self._count.setText(self._words(counts))

    def _words(self, counts: dict[str, int]) -> str:
        if not self.field.text():
            return ""
        if not counts:
            return self.tr("Not found")
        total, at = sum(counts.values()), self._number(counts)
        words = self.tr("%1 of %2").replace("%1", figures.count(total if at is None else at + 1))
        return words.replace("%2", figures.count(total))

    def _step_button(self, icon: str, name: str, delta: int) -> QToolButton:
        button = QToolButton()
        button.setIcon(theme.icon(icon))
        button.setAutoRaise(True)
        button.setAccessibleName(name)
        button.setToolTip(name)
        button.clicked.connect(lambda: self.step(delta))
        return button

    def _lay_out(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(4 * SPACE, 2 * SPACE, 4 * SPACE, 2 * SPACE)
        row.setSpacing(2 * SPACE)
        row.addWidget(self.field)
        row.addWidget(self._previous)
        row.addWidget(self._next)
        row.addWidget(self._count)
        row.addStretch(1)
        done = QPushButton(self.tr("Done"))
        done.setAutoDefault(False)
        done.clicked.connect(self.close_bar)
        row.addWidget(done)

    def eventFilter(self, watched: QWidget, event: QEvent) -> bool:  # type: ignore[override]
        """Return goes on, with Shift back; Escape closes, before it stops an answer."""
        if not isinstance(event, QKeyEvent):
            return False
        if event.type() == QEvent.Type.ShortcutOverride and event.key() == Qt.Key.Key_Escape:
            event.accept()
            return True
        return event.type() == QEvent.Type.KeyPress and self._key(event)

    def _key(self, event: QKeyEvent) -> bool:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            back = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
            self.step(-1 if back else 1)
        elif event.key() == Qt.Key.Key_Escape:
            self.close_bar()
        else:
            return False
        return True

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, color(Role.LINE))


def _place(number: int, total: int, counts: dict[str, int]) -> Place:
    """The place with this number among all; beyond the ends it goes round."""
    number %= total
    for id, count in counts.items():
        if number < count:
            return id, number
        number -= count
    raise AssertionError("there are as many places as were counted")
