"""The lossless form of a conversation: one JSON file with every branch, and its way back.

`format` and `version` name it. An import trusts nothing: the shape is read strictly, the messages
must make one tree, and what is still marked as growing counts as interrupted. Ids are kept where
they are free, so that an import into an empty library is the same library; otherwise all of the
conversation's ids are made anew, and it becomes a second one.
"""

import json
import sqlite3
from dataclasses import dataclass, replace

from app import conversation_rows, message_rows
from app.conversation import Conversation, Message
from app.conversation_rows import new_id
from app.message_tree import StoredMessage
from engine.errors import MartletError
from engine.records import BadRecord, from_json, to_json

FORMAT = "martlet-conversation"
VERSION = 1


class BadArchive(MartletError):
    """A file is not an exported conversation, or is damaged."""


@dataclass(frozen=True, slots=True)
class Archive:
    """What the file holds."""

    format: str
    version: int
    conversation: Conversation
    messages: tuple[StoredMessage, ...]  # in the order they were written: parents first
    folder: str | None = None  # name of the conversation's folder


def read_archive(db: sqlite3.Connection, conversation_id: str) -> Archive | None:
    """A conversation from the store; None if there is none."""
    conversation = conversation_rows.read_conversation(db, conversation_id)
    if conversation is None:
        return None
    folder = db.execute(
        "SELECT name FROM folder WHERE id = ?", (conversation.folder_id,)
    ).fetchone()
    messages = message_rows.read_messages(db, conversation_id)
    return Archive(FORMAT, VERSION, conversation, messages, folder[0] if folder else None)


def to_text(archive: Archive) -> str:
    """As JSON."""
    return json.dumps(to_json(archive), ensure_ascii=False, indent=1) + "\n"


def from_text(text: str, name: str) -> Archive:
    """From JSON; `name` is what errors call it. Raises BadArchive."""
    try:
        value = json.loads(text)
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            raise BadArchive(f"{name} is not a conversation that Martlet exported.")
        if value.get("version") != VERSION:
            raise BadArchive(f"{name} comes from another version of Martlet.", "Update Martlet.")
        archive = from_json(Archive, value)
    except (ValueError, RecursionError, BadRecord) as error:
        raise BadArchive(f"{name} is damaged: {error}", "Export it again.") from error
    _check_tree(archive, name)
    return replace(archive, messages=tuple(map(_settled, archive.messages)))


def write_archive(db: sqlite3.Connection, archive: Archive) -> str:
    """Add it to the store as it is; return the conversation's id."""
    if _any_id_taken(db, archive):
        archive = _renamed(archive)
    folder_id = _folder(db, archive.folder) if archive.folder else None
    conversation = replace(archive.conversation, folder_id=folder_id, deleted_at=None)
    conversation_rows.insert(db, conversation)
    for stored in archive.messages:
        message_rows.restore_message(db, stored)
    return conversation.id


def _check_tree(archive: Archive, name: str) -> None:
    seen: set[str] = set()
    for message in (stored.message for stored in archive.messages):
        fits = message.conversation_id == archive.conversation.id and message.id not in seen
        if not fits or (message.parent_id is not None and message.parent_id not in seen):
            raise BadArchive(f"{name} is damaged: its messages do not make a tree.")
        seen.add(message.id)


def _settled(stored: StoredMessage) -> StoredMessage:
    if stored.message.settled:
        return stored
    return replace(stored, message=replace(stored.message, status="interrupted"))


def _any_id_taken(db: sqlite3.Connection, archive: Archive) -> bool:
    ids = [("conversation", archive.conversation.id)]
    ids += [("message", stored.message.id) for stored in archive.messages]
    return any(
        db.execute(f"SELECT 1 FROM {table} WHERE id = ?", (id,)).fetchone() for table, id in ids
    )


def _renamed(archive: Archive) -> Archive:
    ids: dict[str | None, str] = {stored.message.id: new_id() for stored in archive.messages}
    conversation = replace(archive.conversation, id=new_id())

    def renamed(message: Message) -> Message:
        return replace(
            message,
            id=ids[message.id],
            parent_id=ids.get(message.parent_id),
            conversation_id=conversation.id,
        )

    messages = tuple(replace(s, message=renamed(s.message)) for s in archive.messages)
    return replace(archive, conversation=conversation, messages=messages)


def _folder(db: sqlite3.Connection, name: str) -> str:
    row = db.execute(
        "SELECT id FROM folder WHERE name = ? AND deleted_at IS NULL", (name,)
    ).fetchone()
    return row[0] if row else conversation_rows.create_folder(db, name)
