"""ChatController: the one open conversation, as the transcript and the composer see it.

Threading: lives on the UI thread; every method returns at once and every signal is emitted on the
UI thread. What changes the conversation is committed by the store first and shown afterwards, so
what is on the screen is what is on the disk. Several controllers (windows) may share a workspace.
"""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.conversation import Attachment, Conversation, Message
from app.settings import Overrides


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

    @property
    def conversation(self) -> Conversation | None:
        """The open conversation; None before the first open()."""
        raise NotImplementedError

    @property
    def messages(self) -> tuple[Message, ...]:
        """The branch that is shown, first message first."""
        raise NotImplementedError

    def open(self, conversation_id: str) -> None:
        """Show this conversation. Nothing that is being generated stops."""

    def open_new(self, folder_id: str | None = None) -> None:
        """Show an empty conversation, which is kept from its first turn or draft on."""

    def send(self, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Commit the turn after the shown branch's end and have it answered, or queued."""

    def stop(self) -> None:
        """End this conversation's running answer; what was generated stays, as "stopped"."""

    def edit(self, message_id: str, text: str) -> None:
        """A user's turn in a new version, with an answer. One that still waits changes in place."""

    def regenerate(self, message_id: str) -> None:
        """Another version of this answer."""

    def continue_(self, message_id: str) -> None:
        """Let the model go on with an answer that was cut short."""

    def switch_branch(self, message_id: str, delta: int) -> None:
        """Show the version `delta` places after this one's (-1 or 1), with what follows it."""

    def delete(self, message_id: str) -> None:
        """Delete this message and all that follows it on every branch. See undo_delete()."""

    def undo_delete(self, deletion_id: str) -> None:
        """Take a message's deletion back."""

    def remove_queued(self, message_id: str) -> None:
        """Take a turn (or its waiting answer) that was not begun out of the queue, for good."""

    def edit_queued(self, message_id: str, text: str) -> None:
        """Change the words of a turn whose answer was not begun yet."""

    def reveal(self, message_id: str) -> None:
        """Switch branches so that this message is shown, and ask to scroll to it."""

    def count_draft(self, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Ask for a TokenCount of the branch with this draft. Only the latest ask is answered."""

    def attach(self, paths: Sequence[Path]) -> None:
        """Read text or code files for the draft; `attachments_read` follows."""

    def save_draft(self, text: str) -> None:
        """Keep what stands in the composer. Cheap: call it at every change."""

    def set_overrides(self, overrides: Overrides) -> None:
        """What this conversation does differently from the settings, from the next answer on."""

    def close(self) -> None:
        """The window goes; nothing that is being generated stops."""

    def set_model(self, path: str) -> None:
        """The model which answers this conversation from now on; "" for the application's."""
