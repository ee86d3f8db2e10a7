"""Messages as rows: reading them, and what becomes of an answer from "queued" to settled.

Functions of a connection, run by `ChatStore` inside of a transaction. `app.turns` changes the tree.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from app import conversation_rows
from app.conversation import (
    AnswerStats,
    Attachment,
    Conversation,
    Failure,
    Message,
    MessageStatus,
)
from app.message_tree import MessageTree, StoredMessage
from engine.records import to_json

Parsed = TypeVar("Parsed", Failure, AnswerStats)

_COLUMNS = (
    "id, conversation_id, parent_id, role, text, reasoning, reasoning_s, status, error,"
    " created_at, model, finish_reason, stats, chosen"
)
_UNFINISHED = Failure(
    "Interrupted", "Martlet ended while this was being answered.", "Continue, or answer again."
)


def read_messages(db: sqlite3.Connection, conversation_id: str) -> tuple[StoredMessage, ...]:
    """All messages of every branch that are not deleted, in the order they were written."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM message WHERE conversation_id = ? AND deleted_at IS NULL"
        " ORDER BY number",
        (conversation_id,),
    ).fetchall()
    attachments = _read_attachments(db, conversation_id)
    return tuple(_stored(row, attachments.get(row[0], ())) for row in rows)


@dataclass(frozen=True, slots=True)
class Begun:
    """What an answer is made from: its conversation, and the branch that ends with it."""

    conversation: Conversation
    path: tuple[Message, ...]


def begin(db: sqlite3.Connection, answer_id: str, model: str) -> Begun | None:
    """The engine begins with an answer. None if it does not wait any more, or was deleted."""
    row = db.execute(
        "UPDATE message SET status = 'streaming', model = ? WHERE id = ? AND status = 'queued'"
        " AND deleted_at IS NULL AND conversation_id IN"
        " (SELECT id FROM conversation WHERE deleted_at IS NULL) RETURNING conversation_id",
        (model, answer_id),
    ).fetchone()
    conversation = conversation_rows.read_conversation(db, row[0]) if row else None
    if conversation is None:
        return None
    return Begun(conversation, MessageTree(read_messages(db, row[0])).path(answer_id))


def save_growth(db: sqlite3.Connection, answer: Message) -> None:
    """What an answer has grown to. Does nothing to one that has settled."""
    db.execute(
        "UPDATE message SET text = ?, reasoning = ?, reasoning_s = ?"
        " WHERE id = ? AND status = 'streaming'",
        (answer.text, answer.reasoning, answer.reasoning_s, answer.id),
    )


def save_answer(db: sqlite3.Connection, answer: Message) -> None:
    """An answer as it settled: its text and all that is known of it."""
    db.execute(
        "UPDATE message SET text = ?, reasoning = ?, reasoning_s = ?, status = ?, error = ?,"
        " finish_reason = ?, stats = ? WHERE id = ?",
        (
            answer.text,
            answer.reasoning,
            answer.reasoning_s,
            answer.status,
            _json_or_none(answer.error),
            answer.finish_reason,
            _json_or_none(answer.stats),
            answer.id,
        ),
    )


def settle(
    db: sqlite3.Connection, answer_id: str, status: MessageStatus, error: Failure | None = None
) -> None:
    """An answer that was not begun will not be."""
    db.execute(
        "UPDATE message SET status = ?, error = ? WHERE id = ? AND status = 'queued'",
        (status, _json_or_none(error), answer_id),
    )


def mark_interrupted(db: sqlite3.Connection) -> int:
    """After a start: what waited or grew when the application ended does so no longer."""
    return db.execute(
        "UPDATE message SET status = 'interrupted', error = ?"
        " WHERE status IN ('queued', 'streaming')",
        (_json_or_none(_UNFINISHED),),
    ).rowcount


def restore_message(db: sqlite3.Connection, stored: StoredMessage) -> None:
    """Write a message exactly as given (import)."""
    m = stored.message
    db.execute(
        f"INSERT INTO message ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(m.id, m.conversation_id, m.parent_id, m.role, m.text, m.reasoning, m.reasoning_s),
            *(m.status, _json_or_none(m.error), m.created_at, m.model, m.finish_reason),
            *(_json_or_none(m.stats), stored.chosen),
        ),
    )
    insert_attachments(db, m.id, m.attachments)


def insert_attachments(
    db: sqlite3.Connection, message_id: str, attachments: Sequence[Attachment]
) -> None:
    """The files that go with a message."""
    db.executemany(
        "INSERT INTO attachment VALUES (?, ?, ?, ?)",
        [(message_id, i, a.name, a.text) for i, a in enumerate(attachments)],
    )


def _read_attachments(
    db: sqlite3.Connection, conversation_id: str
) -> dict[str, tuple[Attachment, ...]]:
    found: dict[str, tuple[Attachment, ...]] = {}
    for message_id, name, text in db.execute(
        "SELECT message_id, name, a.text FROM attachment a JOIN message m ON m.id = message_id"
        " WHERE conversation_id = ? ORDER BY message_id, position",
        (conversation_id,),
    ):
        found[message_id] = (*found.get(message_id, ()), Attachment(name, text))
    return found


def _stored(row: tuple[Any, ...], attachments: tuple[Attachment, ...]) -> StoredMessage:
    id, conversation_id, parent_id, role, text, reasoning, reasoning_s, status, *rest = row
    error, created_at, model, finish_reason, stats, chosen = rest
    message = Message(
        id,
        conversation_id,
        parent_id,
        role,
        text,
        reasoning,
        reasoning_s,
        status,
        error=_parse(Failure, error),
        created_at=created_at,
        model=model,
        finish_reason=finish_reason,
        stats=_parse(AnswerStats, stats),
        attachments=attachments,
    )
    return StoredMessage(message, chosen)


def _json_or_none(value: Failure | AnswerStats | None) -> str | None:
    return None if value is None else json.dumps(to_json(value))


def _parse(kind: type[Parsed], text: object) -> Parsed | None:
    """A message is never hidden because a figure beside it cannot be understood."""
    if text is None:
        return None
    try:
        return kind(**json.loads(str(text)))
    except (TypeError, ValueError):
        return None
