"""Composer: where a message is written, at the bottom of the window. It is never locked.

While an answer streams, what is sent waits in line. The draft is kept at every change; a turn that
could not be saved comes back here.
"""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QVBoxLayout, QWidget

from app.chat_controller import ChatController
from app.conversation import Activity, Attachment, Conversation, TokenCount
from app.ui import figures, theme
from app.ui.composer_buttons import Pill, RoundButton
from app.ui.composer_card import ComposerCard
from app.ui.composer_files import ComposerFiles
from app.ui.composer_text import ComposerText
from app.ui.label import Label
from app.ui.theme import SPACE, Role
from app.ui.transcript.quiet_button import QuietButton

translate = QCoreApplication.translate

_INSET = 3 * SPACE  # of the card's content
_OVERHANG = 2 * SPACE  # of the card over the column of text, at both sides


class Composer(QWidget):
    """The composer of one window.

    Signals:
        message_sent: a turn was handed to the chat.
    """

    message_sent = Signal()

    def __init__(self, chat: ChatController, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._chat = chat
        self._activity = Activity()
        self._is_stopping = False  # pressed, but the engine has not said so yet
        self._is_fresh = False  # another conversation was opened; its draft comes
        self._is_restoring = False
        self._thinks_by_default = True
        self._too_long = False
        self.text = ComposerText()
        self.files = ComposerFiles()
        self._attach = QuietButton(self, icon="plus", name=self.tr("Attach files…"))
        self._think = Pill(self.tr("Think"), "think")
        self._think.setToolTip(self.tr("Let the model think before it answers"))
        self._count = Label(role=Role.TERTIARY, size=theme.CAPTION, tabular=True)
        self._count.setForegroundRole(QPalette.ColorRole.WindowText)
        self._stop = RoundButton("stop", self.tr("Stop"))
        self._send = RoundButton("send", self.tr("Send"))
        self._card = ComposerCard(self)
        self._lay_out()
        self._connect()
        self._show_buttons()

    # What the window sets

    def set_return_sends(self, sends: bool) -> None:
        """Whether Return sends, or breaks the line."""
        self.text.return_sends = sends

    def set_text_size(self, percent: int) -> None:
        """Show what is written at 80 to 200 per cent of its usual size."""
        self.text.set_scale(percent / 100)

    def set_thinking(self, *, available: bool, by_default: bool) -> None:
        """Whether the model can think, and does where a conversation does not say."""
        self._think.setVisible(available)
        self._thinks_by_default = by_default
        self._show_thinking(self._chat.conversation)

    def take_focus(self) -> None:
        """Put the keyboard into the field."""
        self.text.setFocus(Qt.FocusReason.OtherFocusReason)

    # What a person does

    def send(self) -> None:
        """Hand what is written to the chat, and begin anew."""
        text = self.text.toPlainText().strip("\n").rstrip()
        files = self.files.files
        if not (text or files) or self._too_long:
            return
        self._clear()
        self._chat.send(text, files)
        self.message_sent.emit()

    def stop(self) -> None:
        """End the answer that is being written, if there is one."""
        if self._is_busy and not self._is_stopping:
            self._is_stopping = True
            self._show_buttons()
            self._chat.stop()

    def choose_files(self) -> None:
        """Ask for files to attach."""
        dialog = QFileDialog(self, self.tr("Attach Files"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(lambda names: self._chat.attach([Path(n) for n in names]))
        dialog.open()

    @property
    def _is_busy(self) -> bool:
        return self._activity.phase != "idle"

    # What the chat tells

    def _connect(self) -> None:
        self.text.textChanged.connect(self._text_changed)
        self.text.sent.connect(self.send)
        self.text.cancelled.connect(self.stop)
        self.text.files_given.connect(self._chat.attach)
        self._card.files_given.connect(self._chat.attach)
        self.files.changed.connect(self._draft_changed)
        self._attach.clicked.connect(self.choose_files)
        self._think.clicked.connect(self._choose_thinking)
        self._stop.clicked.connect(self.stop)
        self._send.clicked.connect(self.send)
        chat = self._chat
        chat.messages_reset.connect(self._opened)
        chat.branch_changed.connect(self._draft_changed)
        chat.answer_ended.connect(self._draft_changed)
        chat.activity_changed.connect(self._activity_changed)
        chat.conversation_changed.connect(self._show_thinking)
        chat.tokens_counted.connect(self._show_count)
        chat.draft_restored.connect(self._restore)
        chat.attachments_read.connect(self.files.add)

    def _opened(self) -> None:
        self._is_fresh = True

    def _activity_changed(self, activity: Activity) -> None:
        self._activity = activity
        self._is_stopping = activity.phase == "stopping"
        self._show_buttons()

    def _restore(self, text: str, files: tuple[Attachment, ...]) -> None:
        """Show a draft; a turn that could not be saved comes before what was written since."""
        written = "" if self._is_fresh else self.text.toPlainText()
        kept = () if self._is_fresh else self.files.files
        self._is_restoring, self._is_fresh = self._is_fresh, False
        self.text.setPlainText("\n\n".join(part for part in (text, written) if part))
        self.text.moveCursor(self.text.textCursor().MoveOperation.End)
        self.files.set_files([*files, *kept])
        self._is_restoring = False

    def _text_changed(self) -> None:
        if not self._is_restoring:
            self._chat.save_draft(self.text.toPlainText())
        self._draft_changed()

    def _draft_changed(self) -> None:
        self._show_buttons()
        self._chat.count_draft(self.text.toPlainText(), self.files.files)

    def _clear(self) -> None:
        self._is_restoring = True  # the chat itself forgets the draft, once the turn is saved
        self.text.clear()
        self.files.set_files([])
        self._is_restoring = False

    # How it looks

    def _show_buttons(self) -> None:
        has_draft = bool(self.files.files) or bool(self.text.toPlainText().strip())
        self._stop.setVisible(self._is_busy)
        self._stop.setEnabled(not self._is_stopping)
        self._stop.set_filled(not has_draft)
        self._send.setVisible(has_draft or not self._is_busy)
        self._send.setEnabled(has_draft and not self._too_long)
        name = self.tr("Add to the queue") if self._is_busy else self.tr("Send")
        self._send.setAccessibleName(name)
        self._send.setToolTip(name)

    def _show_count(self, count: TokenCount) -> None:
        self._too_long = count.too_long and count.exact
        self._count.setText(count_words(count))
        self._count.set_role(Role.WARNING if count.too_long else Role.TERTIARY)
        self._show_buttons()

    def _show_thinking(self, conversation: Conversation | None) -> None:
        chosen = conversation.overrides.thinking if conversation else None
        self._think.setChecked(self._thinks_by_default if chosen is None else chosen)

    def _choose_thinking(self, thinks: bool) -> None:
        conversation = self._chat.conversation
        if conversation is not None:
            self._chat.set_overrides(replace(conversation.overrides, thinking=thinks))

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(2 * SPACE)
        row.addWidget(self._attach)
        row.addWidget(self._think)
        row.addStretch(1)
        row.addWidget(self._count)
        row.addWidget(self._stop)
        row.addWidget(self._send)
        column = QVBoxLayout(self._card)
        column.setContentsMargins(_INSET, _INSET, 2 * SPACE, 2 * SPACE)
        column.setSpacing(SPACE)
        column.addWidget(self.files)
        column.addWidget(self.text)
        column.addLayout(row)
        outer = QHBoxLayout(self)
        outer.setContentsMargins(4 * SPACE, SPACE, 4 * SPACE, 4 * SPACE)
        outer.addWidget(self._card)
        self._card.setMaximumWidth(theme.COLUMN_WIDTH + 2 * _OVERHANG)
        order = (self.text, self._attach, self._think, self._stop, self._send)
        for first, second in pairwise(order):
            QWidget.setTabOrder(first, second)


def count_words(count: TokenCount) -> str:
    """`1,204 of 32,768 tokens`; `about` where nobody counted exactly."""
    if count.limit is None:
        words = translate("composer", "about %1 tokens")
    elif count.exact:
        words = translate("composer", "%1 of %2 tokens")
    else:
        words = translate("composer", "about %1 of %2 tokens")
    words = words.replace("%1", figures.count(count.used))
    words = words.replace("%2", figures.count(count.limit or 0))
    return translate("composer", "%1: too long").replace("%1", words) if count.too_long else words
