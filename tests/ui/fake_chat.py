"""FakeChat: a ChatController without store and engine; it notes what it is asked."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject

from app.chat_controller import ChatController
from app.conversation import (
    Activity,
    AnswerDelta,
    AnswerStats,
    Attachment,
    Conversation,
    Message,
    MessageStatus,
    TokenCount,
)
from app.settings import Overrides

STATS = AnswerStats(
    prompt_tokens=812,
    cached_tokens=640,
    generated_tokens=214,
    ttft_s=0.9,
    tokens_per_s=11.8,
    prefill_tokens_per_s=190.0,
    hit_rate=0.71,
    bytes_read=9_400_000_000,
    read_s=3.1,
    peak_memory_bytes=2_600_000_000,
)


class FakeChat(ChatController):
    """Shows `shown`; every call is noted in `asked` as its name and arguments."""

    def __init__(self) -> None:
        QObject.__init__(self)
        self.shown: list[Message] = []
        self.asked: list[tuple[object, ...]] = []
        self.current: Conversation | None = Conversation("c1", "A conversation")

    @property
    def conversation(self) -> Conversation | None:
        return self.current

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self.shown)

    def show(self, messages: Sequence[Message], conversation_id: str = "c1") -> None:
        """Open a conversation with these messages."""
        self.shown = list(messages)
        self.current = Conversation(conversation_id, "A conversation")
        self.messages_reset.emit(tuple(messages))
        self.conversation_changed.emit(self.current)

    def branch(self, index: int, messages: Sequence[Message]) -> None:
        """From an index on, the branch reads so."""
        self.shown[index:] = messages
        self.branch_changed.emit(index, tuple(messages))

    def change(self, message: Message) -> None:
        """A message changed in place."""
        index = next(i for i, m in enumerate(self.shown) if m.id == message.id)
        self.shown[index] = message
        self.message_changed.emit(message)

    def grow(self, message_id: str, text: str = "", reasoning: str = "") -> None:
        """More of an answer."""
        index = next(i for i, m in enumerate(self.shown) if m.id == message_id)
        grown = self.shown[index]
        self.shown[index] = replace(
            grown, text=grown.text + text, reasoning=grown.reasoning + reasoning
        )
        delta = AnswerDelta("c1", message_id, "g1", reasoning=reasoning, text=text)
        self.answer_grew.emit(delta)

    def finish(self, message_id: str, status: MessageStatus = "complete") -> None:
        """The answer ended."""
        index = next(i for i, m in enumerate(self.shown) if m.id == message_id)
        self.change(replace(self.shown[index], status=status, stats=STATS))
        self.answer_ended.emit(self.shown[index])

    def send(self, text: str, attachments: Sequence[Attachment] = ()) -> None:
        self.asked.append(("send", text, tuple(attachments)))

    def stop(self) -> None:
        self.asked.append(("stop",))

    def edit(self, message_id: str, text: str) -> None:
        self.asked.append(("edit", message_id, text))

    def regenerate(self, message_id: str) -> None:
        self.asked.append(("regenerate", message_id))

    def continue_(self, message_id: str) -> None:
        self.asked.append(("continue_", message_id))

    def switch_branch(self, message_id: str, delta: int) -> None:
        self.asked.append(("switch_branch", message_id, delta))

    def delete(self, message_id: str) -> None:
        self.asked.append(("delete", message_id))

    def remove_queued(self, message_id: str) -> None:
        self.asked.append(("remove_queued", message_id))

    def edit_queued(self, message_id: str, text: str) -> None:
        self.asked.append(("edit_queued", message_id, text))

    def count_draft(self, text: str, attachments: Sequence[Attachment] = ()) -> None:
        self.asked.append(("count_draft", text, tuple(attachments)))

    def count(self, used: int, limit: int | None = 32_768, *, exact: bool = True) -> None:
        """Answer the last count_draft()."""
        self.tokens_counted.emit(TokenCount(draft=used, used=used, limit=limit, exact=exact))

    def attach(self, paths: Sequence[Path]) -> None:
        self.asked.append(("attach", tuple(paths)))

    def save_draft(self, text: str) -> None:
        self.asked.append(("save_draft", text))

    def set_overrides(self, overrides: Overrides) -> None:
        self.asked.append(("set_overrides", overrides))
        assert self.current is not None
        self.current = replace(self.current, overrides=overrides)
        self.conversation_changed.emit(self.current)

    def do(self, activity: Activity) -> None:
        """The engine does this for the conversation."""
        self.activity_changed.emit(activity)


def user(number: int, text: str, **more: object) -> Message:
    """A person's turn."""
    return Message(f"u{number}", "c1", None, "user", text, **more)  # type: ignore[arg-type]


def answer(number: int, text: str, **more: object) -> Message:
    """An answer, finished unless told otherwise."""
    given: dict[str, object] = {"model": "Qwen3.6 35B-A3B", "stats": STATS, **more}
    return Message(f"a{number}", "c1", None, "assistant", text, **given)  # type: ignore[arg-type]
