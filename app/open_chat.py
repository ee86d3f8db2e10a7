"""OpenChat: a conversation as it was read from the store, with all its branches.

Pure values, made on the reader's thread and used on the UI thread.
"""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from app.conversation import Conversation, Message
from app.conversation_rows import NAMELESS, new_id, read_conversation
from app.message_rows import read_messages
from app.message_tree import MessageTree


@dataclass(slots=True)
class OpenChat:
    """A conversation and its messages."""

    conversation: Conversation
    tree: MessageTree
    branch: tuple[Message, ...]  # the shown one, as it is stored


def read_chat(db: sqlite3.Connection, id: str) -> OpenChat | None:
    """Read a conversation; None if there is none."""
    conversation = read_conversation(db, id)
    if conversation is None:
        return None
    tree = MessageTree(read_messages(db, id))
    return OpenChat(conversation, tree, tree.branch())


def fresh_chat(folder_id: str | None, at: float) -> OpenChat:
    """An empty conversation, which the store does not know yet."""
    conversation = Conversation(
        new_id(), NAMELESS, folder_id=folder_id, created_at=at, updated_at=at
    )
    return OpenChat(conversation, MessageTree(()), ())


def ahead(shown: Sequence[Message], live: Callable[[str], Message | None]) -> tuple[Message, ...]:
    """`shown` with the running answer as `live` knows it, which is ahead of what is stored."""
    return tuple(
        with_place_of(newer, message) if (newer := live(message.id)) else message
        for message in shown
    )


def with_place_of(message: Message, place: Message) -> Message:
    """`message` with the place among its siblings that `place` has."""
    return replace(message, sibling_index=place.sibling_index, sibling_count=place.sibling_count)


def common_length(one: Sequence[Message], other: Sequence[Message]) -> int:
    """How many messages at the start are the same ones, changed or not."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a.id != b.id), min(len(one), len(other)))
