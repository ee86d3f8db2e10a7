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
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from app import conversation_rows, turns
from app.answer_queue import AnswerQueue
from app.attachment_reader import AttachmentReader
from app.chat_follower import ChatFollower
from app.chat_store import ChatStore
from app.conversation import (
    Attachment,
    Conversation,
    Deletion,
    Failure,
    Message,
)
from app.draft_keeper import DraftKeeper
from app.engine_client import EngineClient
from app.open_chat import OpenChat, fresh_chat
from app.settings import Overrides
from app.settings_store import SettingsStore
from app.token_counter import TokenCounter
from app.typed_text import storable


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
        self._engine = engine
        self._answers = answers
        self._settings = settings
        self._revealing: str | None = None  # a message that is to be shown
        self._follower = ChatFollower(store, answers, self)
        self._drafts = DraftKeeper(store, self)
        self._counter = TokenCounter(engine, self)
        self._files = AttachmentReader(self)
        self._connect()

    @property
    def conversation(self) -> Conversation | None:
        """The open conversation; None before the first open()."""
        return self._follower.conversation

    @property
    def messages(self) -> tuple[Message, ...]:
        """The branch that is shown, first message first."""
        return self._follower.messages

    # Opening

    def open(self, conversation_id: str) -> None:
        """Show this conversation. Nothing that is being generated stops."""
        self._drafts.flush()
        self._revealing = None
        self._follower.open(conversation_id)

    def open_new(self, folder_id: str | None = None) -> None:
        """Show an empty conversation, which is kept from its first turn or draft on."""
        self._drafts.flush()
        self._revealing = None
        self._follower.show(fresh_chat(folder_id, time.time()))

    def reveal(self, message_id: str) -> None:
        """Switch branches so that this message is shown, and ask to scroll to it."""
        self._revealing = message_id
        if not self._follower.is_opening:
            self._reveal()

    def close(self) -> None:
        """The window goes; nothing that is being generated stops."""
        self._drafts.flush()
        self.closed.emit(self)
        self.deleteLater()

    # Turns

    def send(self, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Commit the turn after the shown branch's end and have it answered, or queued."""
        conversation, text = self._must_be_open(), storable(text)
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
        edit = partial(turns.edit_turn, message_id=message_id, text=storable(text), at=time.time())
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
        sibling = self._follower.tree.sibling(message_id, delta)
        if sibling is not None:
            self._write(partial(turns.choose, message_ids=[sibling]))

    def remove_queued(self, message_id: str) -> None:
        """Take a turn (or its waiting answer) that was not begun out of the queue, for good."""
        remove = partial(turns.remove_waiting, message_id=message_id)
        self._write(remove, self._answers.forget)

    def delete(self, message_id: str) -> None:
        """Delete this message and all that follows it on every branch. See undo_delete()."""
        for queued in self._answers.answers:
            if message_id in [m.id for m in self._follower.tree.path(queued.message_id)]:
                self._answers.end(queued.message_id)
        self._engine.forget([self._must_be_open().id])  # what it keeps holds this message, too
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
        self._counter.count(system_prompt, self.messages, storable(text), attachments)

    def save_draft(self, text: str) -> None:
        """Keep what stands in the composer. Cheap: call it at every change."""
        self._drafts.keep(self._must_be_open(), storable(text))

    # The conversation's own settings

    def set_overrides(self, overrides: Overrides) -> None:
        """What this conversation does differently from the settings, from the next answer on."""
        id = self._must_be_open().id
        save = partial(conversation_rows.set_overrides, id=id, overrides=overrides)
        self._change(save, overrides=overrides)

    def set_model(self, path: str) -> None:
        """The model which answers this conversation from now on; "" for the application's."""
        save = partial(conversation_rows.set_model, id=self._must_be_open().id, model=path)
        self._change(save, model=path)

    # What the others tell

    def _connect(self) -> None:
        follower = self._follower
        follower.opened.connect(self._opened)
        follower.followed.connect(self._reveal)
        follower.conversation_changed.connect(self.conversation_changed)
        follower.branch_changed.connect(self.branch_changed)
        follower.message_changed.connect(self.message_changed)
        follower.answer_grew.connect(self.answer_grew)
        follower.failed.connect(self.failed)
        self._counter.counted.connect(self.tokens_counted)
        self._files.read.connect(self.attachments_read)
        self._files.failed.connect(self.failed)
        self._answers.queue_changed.connect(self.queue_changed)
        self._answers.activity_changed.connect(self._activity_changed)
        self._answers.answer_ended.connect(self._ended)

    def _opened(self, chat: OpenChat) -> None:
        conversation = chat.conversation
        self.conversation_changed.emit(conversation)
        self.messages_reset.emit(self.messages)
        self.activity_changed.emit(self._answers.activity(conversation.id))
        self.draft_restored.emit(conversation.draft, ())
        self._reveal()

    def _reveal(self, _: object = None) -> None:
        """Tell where the wanted message is, or have it shown first."""
        tree, wanted = self._follower.tree, self._revealing
        if wanted is None or wanted not in tree:
            return
        shown = {message.id for message in self.messages}
        if wanted in shown:
            self._revealing = None
            self.message_revealed.emit(wanted)
        else:
            hidden = [message.id for message in tree.path(wanted) if message.id not in shown]
            self._write(partial(turns.choose, message_ids=hidden))

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

    def _change(self, save: Callable[[sqlite3.Connection], None], **changes: Any) -> None:
        """Change the conversation, which is kept from now on (but not listed while empty)."""
        keep = partial(_keep_and, save, self._must_be_open())
        self._follower.change(**changes)
        self._write(keep, self._follower.changed, self._change_failed)

    def _change_failed(self, failure: Failure) -> None:
        self._follower.changed()
        self._failed(failure)

    def _activity_changed(self, conversation_id: str) -> None:
        if self._is_open(conversation_id):
            self.activity_changed.emit(self._answers.activity(conversation_id))

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
        conversation = self.conversation
        return conversation is not None and conversation.id == conversation_id

    def _must_be_open(self) -> Conversation:
        conversation = self.conversation
        assert conversation is not None, "open() or open_new() comes first"
        return conversation


def _keep_and(
    save: Callable[[sqlite3.Connection], None], conversation: Conversation, db: sqlite3.Connection
) -> None:
    conversation_rows.keep(db, conversation)
    save(db)
