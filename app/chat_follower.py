"""ChatFollower: reads one conversation from the store and follows what becomes of it.

Threading: lives on the UI thread; reads happen on the store's reader. Whenever the store says that
the conversation changed, it is read again and the difference is told, so that what is told is what
is on the disk. Only the running answer's text is ahead of it, by at most half a second.
"""

from dataclasses import replace
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.answer_queue import AnswerQueue
from app.chat_store import ChatStore
from app.conversation import AnswerDelta, Conversation, Failure, Message
from app.conversation_rows import read_conversation
from app.message_tree import MessageTree
from app.open_chat import OpenChat, ahead, common_length, read_chat, with_place_of


class ChatFollower(QObject):
    """Shows what `show` or `open` named. Signals: see the comment of each."""

    # OpenChat: another conversation, from now on
    opened = Signal(object)
    # OpenChat: it was read again, and all that differs was told
    followed = Signal(object)
    # Conversation, int and tuple, Message, AnswerDelta: as in ChatController
    conversation_changed = Signal(object)
    branch_changed = Signal(int, object)
    message_changed = Signal(object)
    answer_grew = Signal(object)
    # Failure: the conversation that was to be opened cannot be
    failed = Signal(object)

    def __init__(self, store: ChatStore, answers: AnswerQueue, parent: QObject) -> None:
        super().__init__(parent)
        self._store = store
        self._answers = answers
        self._chat: OpenChat | None = None
        self._shown: tuple[Message, ...] = ()  # the branch as it was last told
        self._opening: str | None = None  # what is to be opened, until it is read
        self._asked = 0  # reads so far; only the latest one counts
        self._changing = 0  # changes of the conversation that are not on the disk yet
        self._changes = 0  # so far; what was read before the latest one is out of date
        store.conversation_touched.connect(self._touched)
        store.library_touched.connect(self._list_touched)
        answers.answer_grew.connect(self._grew)
        answers.answer_changed.connect(self._answer_changed)

    @property
    def conversation(self) -> Conversation | None:
        """The conversation that is shown."""
        return self._chat.conversation if self._chat else None

    @property
    def tree(self) -> MessageTree:
        """All of its messages."""
        return self._chat.tree if self._chat else MessageTree(())

    @property
    def messages(self) -> tuple[Message, ...]:
        """The branch that is shown, up to the latest word."""
        return ahead(self._shown, self._answers.live)

    @property
    def is_opening(self) -> bool:
        """Whether another conversation is on its way."""
        return self._opening is not None

    def open(self, conversation_id: str) -> None:
        """Read this conversation and show it."""
        self._opening = conversation_id
        self._read(conversation_id)

    def show(self, chat: OpenChat) -> None:
        """Show this one, now."""
        self._asked += 1
        self._opening = None
        self._chat = chat
        self._shown = ahead(chat.branch, self._answers.live)
        self.opened.emit(chat)

    def change(self, **changes: Any) -> None:
        """The conversation is being changed by its own window: ahead of the store."""
        assert self._chat is not None, "something is shown"
        self._changing += 1
        self._changes += 1
        self._take_conversation(self._chat, replace(self._chat.conversation, **changes))

    def changed(self, _: object = None) -> None:
        """That change is on the disk, or failed."""
        self._changing -= 1

    def _read(self, conversation_id: str) -> None:
        self._asked += 1
        read = partial(read_chat, id=conversation_id)
        done = partial(self._was_read, self._asked, self._changes)
        self._store.read(read, done, self._cannot_read)

    def _was_read(self, ask: int, changes: int, chat: OpenChat | None) -> None:
        if ask != self._asked:
            return
        self._opening = None
        if chat is None:
            gone = Failure("NotFound", "This conversation does not exist any more.")
            self.failed.emit(gone)
        elif self._chat is None or chat.conversation.id != self._chat.conversation.id:
            self.show(chat)
        else:
            self._follow(self._chat, chat, changes)

    def _follow(self, old: OpenChat, chat: OpenChat, changes: int) -> None:
        """The same conversation was read again: tell what differs."""
        conversation, chat.conversation = chat.conversation, old.conversation
        self._chat = chat
        if not self._is_late(changes):
            self._take_conversation(chat, conversation)
        self._tell_branch(self._shown, ahead(chat.branch, self._answers.live))
        self.followed.emit(chat)

    def _is_late(self, changes: int) -> bool:
        """Whether what was asked for after so many changes may lack the latest one."""
        return self._changing > 0 or changes != self._changes

    def _tell_branch(self, before: tuple[Message, ...], now: tuple[Message, ...]) -> None:
        self._shown = now
        same = common_length(before, now)
        for old, new in zip(before[:same], now[:same], strict=True):
            if old != new:
                self.message_changed.emit(new)
        if same < max(len(before), len(now)):
            self.branch_changed.emit(same, now[same:])

    def _take_conversation(self, chat: OpenChat, conversation: Conversation) -> None:
        if conversation != chat.conversation:
            chat.conversation = conversation
            self.conversation_changed.emit(conversation)

    def _touched(self, conversation_id: str) -> None:
        shown = self.conversation
        if conversation_id == (self._opening or (shown.id if shown else None)):
            self._read(conversation_id)

    def _list_touched(self) -> None:
        """Its name, folder or deletion may have changed; its messages did not."""
        if self._chat is not None:
            read = partial(read_conversation, id=self._chat.conversation.id)
            self._store.read(read, partial(self._conversation_was_read, self._changes))

    def _conversation_was_read(self, changes: int, conversation: Conversation | None) -> None:
        chat = self._chat
        if chat is None or conversation is None or self._is_late(changes):
            return
        if conversation.id == chat.conversation.id:
            self._take_conversation(chat, conversation)

    def _grew(self, delta: AnswerDelta) -> None:
        if any(message.id == delta.message_id for message in reversed(self._shown)):
            self.answer_grew.emit(delta)

    def _answer_changed(self, answer: Message) -> None:
        for index, shown in enumerate(self._shown):
            if shown.id == answer.id:
                now = with_place_of(answer, shown)
                self._shown = (*self._shown[:index], now, *self._shown[index + 1 :])
                self.message_changed.emit(now)

    def _cannot_read(self, failure: Failure) -> None:
        self.failed.emit(failure)
