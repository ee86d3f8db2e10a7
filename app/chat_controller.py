"""ChatController: the one open conversation, as the transcript and the composer see it.

Threading: lives on the UI thread; every method returns at once and every signal is emitted on the
UI thread. What changes the conversation is committed by the store first; then the conversation is
read again and the difference is told. So what is on the screen is what is on the disk, but for
the text of the running answer, which is ahead of it by at most half a second. Several controllers
(windows) may share a workspace.
"""

import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from app import conversation_rows, turns
from app.answer_queue import AnswerQueue
from app.attachment_reader import AttachmentReader
from app.chat_store import ChatStore
from app.conversation import (
    AnswerDelta,
    Attachment,
    Conversation,
    Deletion,
    Failure,
    Message,
)
from app.draft_keeper import DraftKeeper
from app.engine_client import EngineClient
from app.open_chat import (
    OpenChat,
    ahead,
    common_length,
    fresh_chat,
    read_chat,
    with_place_of,
)
from app.settings import Overrides
from app.settings_store import SettingsStore
from app.token_counter import TokenCounter


class ChatController(QObject):
    """Shows one conversation and acts on it.

    Signals: see the comment of each. Messages come as `app.conversation.Message`. A transcript
    needs only the first four of them to be right at all times.
    """

    # tuple[Message, ...]: another conversation was opened; its shown branch, first message first
    messages_reset = Signal(object)
    # int, tuple[Message, ...]: from this index on, the branch now reads so (edit, switch, delete,
    # regenerate, a new turn). Messages before the index are unchanged.
    branch_changed = Signal(int, object)
    # Message: this message on the shown branch changed in place (status, text, stats, versions)
    message_changed = Signal(object)
    # AnswerDelta: more text of a streaming message on the shown branch, at most 30 a second
    answer_grew = Signal(object)
    # Activity: what happens to this conversation's answer (prefill progress, Stop or Send button)
    activity_changed = Signal(object)
    # tuple[QueuedAnswer, ...]: every waiting answer of all conversations, the running one first
    queue_changed = Signal(object)
    # Conversation: the open one, or its title, model, overrides changed. Also after open().
    conversation_changed = Signal(object)
    # TokenCount: the answer to count_draft()
    tokens_counted = Signal(object)
    # str, tuple[Attachment, ...]: put this into the composer (a draft, or a turn that could not
    # be saved: nothing typed is ever lost)
    draft_restored = Signal(str, object)
    # tuple[Attachment, ...]: the answer to attach(); what could not be read came as `failed`
    attachments_read = Signal(object)
    # str: scroll to this message (after reveal)
    message_revealed = Signal(str)
    # Message: an answer of this conversation ended: for the one accessibility announcement
    answer_ended = Signal(object)
    # Deletion: a message was deleted; offer Undo
    deleted = Signal(object)
    # Failure: something could not be done, in words for a sheet or banner
    failed = Signal(object)
    # ChatController: this one; its window went
    closed = Signal(object)

    def __init__(
        self, store: ChatStore, engine: EngineClient, answers: AnswerQueue, settings: SettingsStore
    ) -> None:
        super().__init__()
        self._store = store
        self._answers = answers
        self._settings = settings
        self._chat: OpenChat | None = None
        self._shown: tuple[Message, ...] = ()  # the branch as it was last told
        self._opening: str | None = None  # the conversation that is wanted, once it is read
        self._asked = 0  # how often the open conversation was asked for; older reads are dropped
        self._revealing: str | None = None
        self._drafts = DraftKeeper(store, self)
        self._counter = TokenCounter(engine, self)
        self._counter.counted.connect(self.tokens_counted)
        self._files = AttachmentReader(self)
        self._files.read.connect(self.attachments_read)
        self._files.failed.connect(self.failed)
        store.conversation_touched.connect(self._touched)
        store.library_touched.connect(self._list_touched)
        answers.queue_changed.connect(self.queue_changed)
        answers.activity_changed.connect(self._activity_changed)
        answers.answer_grew.connect(self._grew)
        answers.answer_changed.connect(self._answer_changed)
        answers.answer_ended.connect(self._ended)

    @property
    def conversation(self) -> Conversation | None:
        """The open conversation; None before the first open()."""
        return self._chat.conversation if self._chat else None

    @property
    def messages(self) -> tuple[Message, ...]:
        """The branch that is shown, first message first."""
        return ahead(self._shown, self._answers.live)

    # Opening

    def open(self, conversation_id: str) -> None:
        """Show this conversation. Nothing that is being generated stops."""
        self._drafts.flush()
        self._revealing = None
        self._opening = conversation_id
        self._read(conversation_id)

    def open_new(self, folder_id: str | None = None) -> None:
        """Show an empty conversation, which is kept from its first turn or draft on."""
        self._drafts.flush()
        self._opening = self._revealing = None
        self._asked += 1
        self._show(fresh_chat(folder_id, time.time()))

    def reveal(self, message_id: str) -> None:
        """Switch branches so that this message is shown, and ask to scroll to it."""
        self._revealing = message_id
        if self._opening is None and self._chat is not None:
            self._reveal(self._chat)

    def close(self) -> None:
        """The window goes; nothing that is being generated stops."""
        self._drafts.flush()
        self.closed.emit(self)
        self.deleteLater()

    # Turns

    def send(self, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Commit the turn after the shown branch's end and have it answered, or queued."""
        conversation = self._must_be_open()
        self._drafts.forget()
        self._write(
            partial(
                turns.add_turn,
                conversation=conversation,
                text=text,
                attachments=tuple(attachments),
                at=time.time(),
            ),
            self._answers.enqueue_turn,
            partial(self._send_failed, text, tuple(attachments)),
        )

    def stop(self) -> None:
        """End this conversation's running answer; what was generated stays, as "stopped".

        If none runs, those that wait in this conversation will not be answered.
        """
        self._answers.stop(self._must_be_open().id)

    def edit(self, message_id: str, text: str) -> None:
        """A user's turn in a new version, with an answer. One that still waits changes in place."""
        edit = partial(turns.edit_turn, message_id=message_id, text=text, at=time.time())
        self._write(edit, self._answers.enqueue_turn)

    def regenerate(self, message_id: str) -> None:
        """Another version of this answer."""
        add = partial(turns.add_version, message_id=message_id, at=time.time())
        self._write(add, self._answers.enqueue_turn)

    def continue_(self, message_id: str) -> None:
        """Let the model go on with an answer that was cut short."""
        self._write(partial(turns.await_more, answer_id=message_id), self._answers.enqueue_turn)

    def switch_branch(self, message_id: str, delta: int) -> None:
        """Show the version `delta` places after this one's (-1 or 1), with what follows it."""
        sibling = self._chat.tree.sibling(message_id, delta) if self._chat else None
        if sibling is not None:
            self._write(partial(turns.choose, message_ids=[sibling]))

    def remove_queued(self, message_id: str) -> None:
        """Take a turn (or its waiting answer) that was not begun out of the queue, for good."""
        remove = partial(turns.remove_waiting, message_id=message_id)
        self._write(remove, self._answers.forget)

    def delete(self, message_id: str) -> None:
        """Delete this message and all that follows it on every branch. See undo_delete()."""
        if self._chat is None:
            return
        for queued in self._answers.answers:
            if message_id in self._chat.ids_above(queued.message_id):
                self._answers.end(queued.message_id)
        self._write(partial(turns.delete, message_id=message_id, at=time.time()), self._deleted)

    def undo_delete(self, deletion_id: str) -> None:
        """Take a message's deletion back."""
        self._write(partial(turns.undo_delete, deletion_id=deletion_id))

    # Composer

    def attach(self, paths: Sequence[Path]) -> None:
        """Read text or code files for the draft; `attachments_read` follows."""
        self._files.start(paths)

    def count_draft(self, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Ask for a TokenCount of the branch with this draft. Only the latest ask is answered."""
        own = self._must_be_open().overrides.system_prompt
        system_prompt = self._settings.settings.system_prompt if own is None else own
        self._counter.count(system_prompt, self.messages, text, attachments)

    def save_draft(self, text: str) -> None:
        """Keep what stands in the composer. Cheap: call it at every change."""
        self._drafts.keep(self._must_be_open(), text)

    # The conversation's own settings

    def set_overrides(self, overrides: Overrides) -> None:
        """What this conversation does differently from the settings, from the next answer on."""
        id = self._must_be_open().id
        save = partial(conversation_rows.set_overrides, id=id, overrides=overrides)
        self._set(save, overrides=overrides)

    def set_model(self, path: str) -> None:
        """The model which answers this conversation from now on; "" for the application's."""
        save = partial(conversation_rows.set_model, id=self._must_be_open().id, model=path)
        self._set(save, model=path)

    # What the store and the queue answer

    def _write(
        self,
        operation: Callable[[sqlite3.Connection], Any],
        done: Callable[[Any], None] | None = None,
        failed: Callable[[Failure], None] | None = None,
    ) -> None:
        id = self._must_be_open().id
        self._store.write(
            operation, done, failed or self._failed, touches=id, lists=True, durable=True
        )

    def _set(self, set_it: Callable[[sqlite3.Connection], None], **changes: Any) -> None:
        """Change the conversation, which is kept from now on (but not listed while empty)."""
        chat = self._chat
        conversation = self._must_be_open()
        if chat is not None:
            chat.conversation = replace(conversation, **changes)
            self.conversation_changed.emit(chat.conversation)

        def operation(db: sqlite3.Connection) -> None:
            conversation_rows.keep(db, conversation)
            set_it(db)

        self._write(operation)

    def _read(self, conversation_id: str) -> None:
        self._asked += 1
        read = partial(read_chat, id=conversation_id)
        self._store.read(read, partial(self._was_read, self._asked), self._failed)

    def _was_read(self, ask: int, chat: OpenChat | None) -> None:
        if ask != self._asked:
            return  # it was asked for again since
        self._opening = None
        if chat is None:
            self._failed(Failure("NotFound", "This conversation does not exist any more."))
        elif self._chat is None or chat.conversation.id != self._chat.conversation.id:
            self._show(chat)
        else:
            self._update(chat)

    def _show(self, chat: OpenChat) -> None:
        self._chat = chat
        self._shown = ahead(chat.branch, self._answers.live)
        self.conversation_changed.emit(chat.conversation)
        self.messages_reset.emit(self._shown)
        self.activity_changed.emit(self._answers.activity(chat.conversation.id))
        self.draft_restored.emit(chat.conversation.draft, ())
        self._reveal(chat)

    def _update(self, chat: OpenChat) -> None:
        """The same conversation was read again: tell what differs."""
        assert self._chat is not None, "something is open"
        before, self._shown = self._shown, ahead(chat.branch, self._answers.live)
        old, self._chat = self._chat, chat
        if old.conversation != chat.conversation:
            self.conversation_changed.emit(chat.conversation)
        same = common_length(before, self._shown)
        for was, now in zip(before[:same], self._shown[:same], strict=True):
            if was != now:
                self.message_changed.emit(now)
        if same < max(len(before), len(self._shown)):
            self.branch_changed.emit(same, self._shown[same:])
        self._reveal(chat)

    def _reveal(self, chat: OpenChat) -> None:
        id = self._revealing
        if id is None or id not in chat.tree:
            return
        shown = {message.id for message in self._shown}
        if id in shown:
            self._revealing = None
            self.message_revealed.emit(id)
        else:
            hidden = [m.id for m in chat.tree.path(id) if m.id not in shown]
            self._write(partial(turns.choose, message_ids=hidden))

    def _touched(self, conversation_id: str) -> None:
        current = self._opening or (self._chat and self._chat.conversation.id)
        if conversation_id == current:
            self._read(conversation_id)

    def _list_touched(self) -> None:
        """Its name, folder or deletion may have changed; its messages did not."""
        if self._chat is not None:
            read = partial(conversation_rows.read_conversation, id=self._chat.conversation.id)
            self._store.read(read, self._conversation_was_read)

    def _conversation_was_read(self, conversation: Conversation | None) -> None:
        chat = self._chat
        if chat is None or conversation is None or conversation.id != chat.conversation.id:
            return
        if conversation != chat.conversation:
            chat.conversation = conversation
            self.conversation_changed.emit(conversation)

    def _activity_changed(self, conversation_id: str) -> None:
        if self._is_open(conversation_id):
            self.activity_changed.emit(self._answers.activity(conversation_id))

    def _grew(self, delta: AnswerDelta) -> None:
        if any(message.id == delta.message_id for message in reversed(self._shown)):
            self.answer_grew.emit(delta)

    def _answer_changed(self, answer: Message) -> None:
        for index, shown in enumerate(self._shown):
            if shown.id == answer.id:
                now = with_place_of(answer, shown)
                self._shown = (*self._shown[:index], now, *self._shown[index + 1 :])
                self.message_changed.emit(now)

    def _ended(self, answer: Message) -> None:
        if self._is_open(answer.conversation_id):
            self.answer_ended.emit(answer)

    def _send_failed(
        self, text: str, attachments: tuple[Attachment, ...], failure: Failure
    ) -> None:
        self.draft_restored.emit(text, attachments)
        self._failed(failure)

    def _deleted(self, deletion: Deletion) -> None:
        self.deleted.emit(deletion)

    def _failed(self, failure: Failure) -> None:
        self.failed.emit(failure)

    def _is_open(self, conversation_id: str) -> bool:
        return self._chat is not None and self._chat.conversation.id == conversation_id

    def _must_be_open(self) -> Conversation:
        assert self._chat is not None, "open() or open_new() comes first"
        return self._chat.conversation
