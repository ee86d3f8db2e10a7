"""Turns: what a person does to a conversation's tree, as statements.

Functions of a connection, run by `ChatStore` inside of a transaction. Nothing here replaces a
message that was answered: edit and regenerate add siblings, delete marks rows.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app import conversation_rows
from app.conversation import Attachment, Conversation, Deletion
from app.conversation_rows import new_id
from app.message_rows import insert_attachments, settle

_RESTORED_AND_ABOVE = (
    "WITH RECURSIVE above (id, parent_id) AS ("
    " SELECT id, parent_id FROM message WHERE deletion_id = ? UNION"
    " SELECT m.id, m.parent_id FROM message m JOIN above ON m.id = above.parent_id)"
)
_NEXT_CHOSEN = (
    "(SELECT coalesce(max(chosen), 0) + 1 FROM message WHERE conversation_id ="
    " (SELECT conversation_id FROM message WHERE id = ?))"
)


@dataclass(frozen=True, slots=True)
class Turn:
    """What adding a turn made: the ids of its two messages."""

    conversation_id: str
    user_id: str | None
    answer_id: str


def add_turn(
    db: sqlite3.Connection,
    conversation: Conversation,
    text: str,
    attachments: Sequence[Attachment],
    at: float,
) -> Turn:
    """A user's turn after the end of the shown branch, with an answer that waits.

    Keeps a conversation that is new; empties its draft.
    """
    conversation_rows.keep(db, conversation)
    conversation_rows.touch(db, conversation.id, at, text or _names(attachments))
    conversation_rows.set_draft(db, conversation.id, "")
    parent_id = _shown_end(db, conversation.id)
    user_id = _insert(db, conversation.id, parent_id, "user", "complete", at, text)
    insert_attachments(db, user_id, attachments)
    return Turn(conversation.id, user_id, _add_answer(db, conversation.id, user_id, at))


def edit_turn(db: sqlite3.Connection, message_id: str, text: str, at: float) -> Turn | None:
    """Another version of a user's turn, with an answer that waits.

    A turn whose only answer still waits is changed in place instead; then there is no new Turn.
    """
    if _edit_waiting(db, message_id, text):
        return None
    conversation_id, parent_id = _place(db, message_id)
    conversation_rows.touch(db, conversation_id, at, text)
    user_id = _insert(db, conversation_id, parent_id, "user", "complete", at, text)
    db.execute(
        "INSERT INTO attachment SELECT ?, position, name, text FROM attachment"
        " WHERE message_id = ?",
        (user_id, message_id),
    )
    return Turn(conversation_id, user_id, _add_answer(db, conversation_id, user_id, at))


def add_version(db: sqlite3.Connection, message_id: str, at: float) -> Turn:
    """Another version of an answer, which waits. Given a user's turn: an answer to it."""
    conversation_id, role, parent_id = db.execute(
        "SELECT conversation_id, role, parent_id FROM message WHERE id = ?", (message_id,)
    ).fetchone()
    user_id = message_id if role == "user" else parent_id
    conversation_rows.touch(db, conversation_id, at, "")
    return Turn(conversation_id, user_id, _add_answer(db, conversation_id, user_id, at))


def await_more(db: sqlite3.Connection, answer_id: str) -> Turn | None:
    """Let an answer that was cut short wait for more; None if it is not settled."""
    changed = db.execute(
        "UPDATE message SET status = 'queued', error = NULL, finish_reason = NULL"
        " WHERE id = ? AND role = 'assistant' AND status NOT IN ('queued', 'streaming')",
        (answer_id,),
    ).rowcount
    conversation_id, user_id = _place(db, answer_id)
    return Turn(conversation_id, user_id, answer_id) if changed else None


def remove_waiting(db: sqlite3.Connection, message_id: str) -> str | None:
    """Take a turn whose answer was not begun away, given either; return the answer's id or None.

    An answer that waits for more, or is a version beside others, only stops waiting. What was
    sent after the turn moves up to what stood before it.
    """
    row = db.execute(
        "SELECT id, parent_id, text FROM message WHERE status = 'queued' AND deleted_at IS NULL"
        " AND ? IN (id, parent_id)",
        (message_id,),
    ).fetchone()
    if row is None:
        return None
    answer_id, user_id, text = row
    if text:
        settle(db, answer_id, "stopped")
    else:
        _remove_answer(db, answer_id, user_id)
    return str(answer_id)


def choose(db: sqlite3.Connection, message_ids: Iterable[str]) -> None:
    """Show these among their siblings."""
    for id in message_ids:
        db.execute(f"UPDATE message SET chosen = {_NEXT_CHOSEN} WHERE id = ?", (id, id))


def delete(db: sqlite3.Connection, message_id: str, at: float) -> Deletion:
    """Mark a message and all that follows it, on every branch, as deleted."""
    deletion_id = new_id()
    db.execute(
        "WITH RECURSIVE below (id) AS (SELECT ? UNION ALL"
        " SELECT m.id FROM message m JOIN below ON m.parent_id = below.id)"
        " UPDATE message SET deleted_at = ?, deletion_id = ?,"
        " status = CASE WHEN status IN ('queued', 'streaming') THEN 'stopped' ELSE status END"
        " WHERE id IN below AND deleted_at IS NULL",
        (message_id, at, deletion_id),
    )
    (count,) = db.execute("SELECT changes()").fetchone()
    (text,) = db.execute("SELECT text FROM message WHERE id = ?", (message_id,)).fetchone()
    return Deletion(deletion_id, "message", count, conversation_rows.first_words(text))


def undo_delete(db: sqlite3.Connection, deletion_id: str) -> None:
    """Bring back all that went with this deletion, and what it hangs from."""
    db.execute(
        f"{_RESTORED_AND_ABOVE} UPDATE message SET deleted_at = NULL, deletion_id = NULL"
        " WHERE id IN (SELECT id FROM above) AND deleted_at IS NOT NULL",
        (deletion_id,),
    )


def _shown_end(db: sqlite3.Connection, conversation_id: str) -> str | None:
    """The last message of the shown branch, by MessageTree's rule, without reading any text."""
    rows = db.execute(
        "SELECT id, parent_id FROM message WHERE conversation_id = ? AND deleted_at IS NULL"
        " ORDER BY chosen",
        (conversation_id,),
    ).fetchall()
    known = {id for id, _ in rows}
    shown_under = {parent if parent in known else None: id for id, parent in rows}  # last one wins
    end = None
    while end in shown_under:
        end = shown_under[end]
    return end


def _insert(
    db: sqlite3.Connection,
    conversation_id: str,
    parent_id: str | None,
    role: str,
    status: str,
    at: float,
    text: str = "",
) -> str:
    id = new_id()
    db.execute(
        "INSERT INTO message (id, conversation_id, parent_id, role, text, status, created_at,"
        " chosen) SELECT ?, ?, ?, ?, ?, ?, ?, coalesce(max(chosen), 0) + 1"
        " FROM message WHERE conversation_id = ?",
        (id, conversation_id, parent_id, role, text, status, at, conversation_id),
    )
    return id


def _add_answer(db: sqlite3.Connection, conversation_id: str, user_id: str, at: float) -> str:
    return _insert(db, conversation_id, user_id, "assistant", "queued", at)


def _edit_waiting(db: sqlite3.Connection, message_id: str, text: str) -> bool:
    answers = db.execute(
        "SELECT status, text FROM message WHERE parent_id = ?", (message_id,)
    ).fetchall()
    if answers != [("queued", "")]:
        return False
    db.execute("UPDATE message SET text = ? WHERE id = ?", (text, message_id))
    return True


def _remove_answer(db: sqlite3.Connection, answer_id: str, user_id: str) -> None:
    """What follows moves to another version, or up; the turn goes with its only answer."""
    others = db.execute(
        "SELECT id, deleted_at IS NULL AS here FROM message WHERE parent_id = ? AND id <> ?"
        " ORDER BY here DESC, chosen DESC",
        (user_id, answer_id),
    ).fetchall()
    if not others:
        _, heir = _place(db, user_id)
    else:
        other, here = others[0]
        heir = other if here else user_id
    db.execute("UPDATE message SET parent_id = ? WHERE parent_id = ?", (heir, answer_id))
    db.execute("DELETE FROM message WHERE id = ?", (answer_id,))
    if not others:
        db.execute("DELETE FROM message WHERE id = ?", (user_id,))


def _place(db: sqlite3.Connection, message_id: str) -> tuple[str, str | None]:
    conversation_id, parent_id = db.execute(
        "SELECT conversation_id, parent_id FROM message WHERE id = ?", (message_id,)
    ).fetchone()
    return conversation_id, parent_id


def _names(attachments: Sequence[Attachment]) -> str:
    return ", ".join(attachment.name for attachment in attachments)
