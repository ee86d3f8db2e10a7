"""Conversations and folders as rows: every statement that reads or writes them.

Functions of a connection, run by `ChatStore` inside of a transaction. Times come from the caller.
"""

import json
import sqlite3
import uuid
from collections.abc import Iterable, Sequence

from app.conversation import Conversation, Deletion, Folder, Library
from app.settings import Overrides
from engine.records import BadRecord, from_json, to_json

KEPT_S = 30 * 24 * 3600.0  # in Recently Deleted
NAMELESS = "New Chat"
_TITLE_CHARACTERS = 60

_COLUMNS = (
    "id, title, title_source, first_words, pinned, folder_id, created_at, updated_at, deleted_at,"
    " model, overrides, draft"
)
_NOT_EMPTY = "(draft <> '' OR title <> '' OR id IN (SELECT conversation_id FROM message))"


def new_id() -> str:
    """An id that no other row has."""
    return uuid.uuid4().hex


def read_library(db: sqlite3.Connection) -> Library:
    """Folders and conversations that are not deleted; pinned first, then the latest turn first."""
    folders = db.execute(
        "SELECT id, name, position FROM folder WHERE deleted_at IS NULL ORDER BY position, name"
    )
    conversations = db.execute(
        f"SELECT {_COLUMNS} FROM conversation WHERE deleted_at IS NULL AND {_NOT_EMPTY}"
        " ORDER BY pinned DESC, updated_at DESC, number DESC"
    )
    return Library(tuple(Folder(*row) for row in folders), tuple(map(_conversation, conversations)))


def read_conversation(db: sqlite3.Connection, id: str) -> Conversation | None:
    """One conversation, deleted or not; None if there is none."""
    row = db.execute(f"SELECT {_COLUMNS} FROM conversation WHERE id = ?", (id,)).fetchone()
    return None if row is None else _conversation(row)


def read_deleted(db: sqlite3.Connection) -> tuple[Conversation, ...]:
    """What lies in Recently Deleted, latest deletion first."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM conversation WHERE deleted_at IS NOT NULL"
        " ORDER BY deleted_at DESC, number DESC"
    )
    return tuple(map(_conversation, rows))


def keep(db: sqlite3.Connection, conversation: Conversation) -> None:
    """Write a conversation that is new; leave one that is there alone."""
    db.execute(
        "INSERT OR IGNORE INTO conversation (id, folder_id, created_at, updated_at, model,"
        " overrides) VALUES (?, ?, ?, ?, ?, ?)",
        (
            conversation.id,
            conversation.folder_id,
            conversation.created_at,
            conversation.updated_at,
            conversation.model,
            _overrides_text(conversation.overrides),
        ),
    )


def insert(db: sqlite3.Connection, conversation: Conversation) -> None:
    """Write a conversation exactly as given (import)."""
    keep(db, conversation)
    named = conversation.title_source != "none"
    db.execute(
        "UPDATE conversation SET title = ?, title_source = ?, first_words = ?, pinned = ?,"
        " draft = ? WHERE id = ?",
        (
            conversation.title if named else "",
            conversation.title_source,
            "" if named or conversation.title == NAMELESS else conversation.title,
            int(conversation.pinned),
            conversation.draft,
            conversation.id,
        ),
    )


def touch(db: sqlite3.Connection, id: str, at: float, first_text: str) -> None:
    """A turn was taken; the first one lends its first words as a name."""
    db.execute(
        "UPDATE conversation SET updated_at = ?,"
        " first_words = CASE first_words WHEN '' THEN ? ELSE first_words END WHERE id = ?",
        (at, first_words(first_text), id),
    )


def first_words(text: str) -> str:
    """The first words of `text` on one line, cut at a blank where that is possible."""
    line = " ".join(text[: 4 * _TITLE_CHARACTERS].split())
    if len(line) <= _TITLE_CHARACTERS:
        return line
    return line[:_TITLE_CHARACTERS].rsplit(" ", 1)[0] + "…"


def rename(db: sqlite3.Connection, id: str, title: str) -> None:
    """A name by hand; an empty one takes the name away."""
    title = " ".join(title.split())
    source = "person" if title else "none"
    db.execute(
        "UPDATE conversation SET title = ?, title_source = ? WHERE id = ?", (title, source, id)
    )


def name_by_model(db: sqlite3.Connection, id: str, title: str) -> None:
    """A name by the model, if nobody gave one."""
    db.execute(
        "UPDATE conversation SET title = ?, title_source = 'model'"
        " WHERE id = ? AND title_source = 'none'",
        (title, id),
    )


def set_pinned(db: sqlite3.Connection, id: str, pinned: bool) -> None:
    """Keep at the top, or no longer."""
    db.execute("UPDATE conversation SET pinned = ? WHERE id = ?", (int(pinned), id))


def set_draft(db: sqlite3.Connection, id: str, draft: str) -> None:
    """What stands in the composer."""
    db.execute("UPDATE conversation SET draft = ? WHERE id = ?", (draft, id))


def set_overrides(db: sqlite3.Connection, id: str, overrides: Overrides) -> None:
    """What the conversation does differently."""
    db.execute(
        "UPDATE conversation SET overrides = ? WHERE id = ?", (_overrides_text(overrides), id)
    )


def set_model(db: sqlite3.Connection, id: str, model: str) -> None:
    """The model that answers it."""
    db.execute("UPDATE conversation SET model = ? WHERE id = ?", (model, id))


def move(db: sqlite3.Connection, ids: Iterable[str], folder_id: str | None) -> None:
    """Into a folder, or out of every one."""
    db.executemany(
        "UPDATE conversation SET folder_id = ? WHERE id = ?", [(folder_id, id) for id in ids]
    )


def create_folder(db: sqlite3.Connection, name: str) -> str:
    """A folder after the others; its id."""
    id = new_id()
    db.execute(
        "INSERT INTO folder (id, name, position)"
        " SELECT ?, ?, coalesce(max(position), -1) + 1 FROM folder",
        (id, name),
    )
    return id


def rename_folder(db: sqlite3.Connection, id: str, name: str) -> None:
    """Another name for a folder."""
    db.execute("UPDATE folder SET name = ? WHERE id = ?", (name, id))


def delete(db: sqlite3.Connection, ids: Sequence[str], at: float) -> Deletion:
    """To Recently Deleted."""
    deletion_id = new_id()
    db.executemany(
        "UPDATE conversation SET deleted_at = ?, deletion_id = ?"
        " WHERE id = ? AND deleted_at IS NULL",
        [(at, deletion_id, id) for id in ids],
    )
    return _deletion(db, deletion_id, "conversations")


def delete_folder(db: sqlite3.Connection, id: str, at: float) -> Deletion:
    """A folder with its conversations."""
    deletion_id = new_id()
    went = (at, deletion_id, id)
    db.execute("UPDATE folder SET deleted_at = ?, deletion_id = ? WHERE id = ?", went)
    db.execute(
        "UPDATE conversation SET deleted_at = ?, deletion_id = ?"
        " WHERE folder_id = ? AND deleted_at IS NULL",
        went,
    )
    return _deletion(db, deletion_id, "folder")


def undo_delete(db: sqlite3.Connection, deletion_id: str) -> None:
    """Bring back the conversations and the folder that went with this deletion."""
    for table in ("folder", "conversation"):
        db.execute(
            f"UPDATE {table} SET deleted_at = NULL, deletion_id = NULL WHERE deletion_id = ?",
            (deletion_id,),
        )


def restore(db: sqlite3.Connection, ids: Iterable[str]) -> None:
    """Out of Recently Deleted; out of a folder that is itself deleted."""
    db.executemany(
        "UPDATE conversation SET deleted_at = NULL, deletion_id = NULL, folder_id ="
        " (SELECT f.id FROM folder f WHERE f.id = folder_id AND f.deleted_at IS NULL)"
        " WHERE id = ?",
        [(id,) for id in ids],
    )


def erase(db: sqlite3.Connection, ids: Iterable[str]) -> None:
    """For good. `scrub` then takes the last traces out of the file."""
    db.executemany("DELETE FROM conversation WHERE id = ?", [(id,) for id in ids])


def purge(db: sqlite3.Connection, now: float) -> int:
    """Erase what was deleted 30 days ago, and empty conversations; return how many rows went."""
    count = 0
    for table in ("message", "conversation", "folder"):
        went = db.execute(f"DELETE FROM {table} WHERE deleted_at < ?", (now - KEPT_S,))
        count += went.rowcount
    return count + db.execute(f"DELETE FROM conversation WHERE NOT {_NOT_EMPTY}").rowcount


def scrub(db: sqlite3.Connection) -> None:
    """Give freed pages back and forget erased words. Runs outside of a transaction."""
    db.execute("INSERT INTO words (words) VALUES ('optimize')")
    db.execute("PRAGMA incremental_vacuum").fetchall()
    db.execute("PRAGMA wal_checkpoint (TRUNCATE)").fetchall()


def _deletion(db: sqlite3.Connection, id: str, kind: str) -> Deletion:
    count, title, words = db.execute(
        "SELECT count(*), min(title), min(first_words) FROM conversation WHERE deletion_id = ?",
        (id,),
    ).fetchone()
    if kind == "folder":
        (title,) = db.execute("SELECT name FROM folder WHERE deletion_id = ?", (id,)).fetchone()
        return Deletion(id, "folder", count, title)
    return Deletion(id, "conversations", count, title or words or NAMELESS)


def _conversation(row: tuple[object, ...]) -> Conversation:
    id, title, source, words, pinned, folder, created, updated, deleted, model, own, draft = row
    return Conversation(
        id=str(id),
        title=str(title or words or NAMELESS),
        title_source=source,  # type: ignore[arg-type]  # written by us alone
        pinned=bool(pinned),
        folder_id=folder,  # type: ignore[arg-type]
        created_at=created,  # type: ignore[arg-type]
        updated_at=updated,  # type: ignore[arg-type]
        deleted_at=deleted,  # type: ignore[arg-type]
        model=str(model),
        overrides=_overrides(str(own)),
        draft=str(draft),
    )


def _overrides_text(overrides: Overrides) -> str:
    return "{}" if overrides == Overrides() else json.dumps(to_json(overrides))


def _overrides(text: str) -> Overrides:
    """A conversation is never hidden because its settings cannot be understood."""
    if text == "{}":
        return Overrides()
    try:
        return from_json(Overrides, json.loads(text))
    except (BadRecord, ValueError):
        return Overrides()
