"""Reading what can still be read of a damaged database into a new one.

Rows are read by their number, so a page that cannot be read costs the rows on it and no others.
Rows that do not fit any more (a message whose conversation is lost) get a place of their own or
are left out; nothing is invented.
"""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

log = logging.getLogger(__name__)

_TABLES = ("folder", "conversation", "message", "attachment", "download")  # parents first
_LARGEST_GAP = 2**20  # row numbers that are tried after the last readable one


def salvage(damaged: Path, target: sqlite3.Connection) -> int:
    """Copy readable rows of `damaged` into the empty `target`; return how many."""
    count = 0
    target.execute("PRAGMA foreign_keys = OFF")
    try:
        with closing(sqlite3.connect(damaged, isolation_level=None)) as source:
            for table in _TABLES:
                count += _copy_table(source, target, table)
    except sqlite3.DatabaseError as error:
        log.error("nothing more could be read: %s", error)
    _mend_references(target)
    target.execute("PRAGMA foreign_keys = ON")
    return count


def _copy_table(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> int:
    columns = [row[1] for row in target.execute(f"PRAGMA table_info({table})")]
    marks = ", ".join("?" * len(columns))
    insert = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({marks})"
    count = 0
    for row in _readable_rows(source, f"SELECT rowid, {', '.join(columns)} FROM {table}"):
        try:
            count += target.execute(insert, row).rowcount
        except sqlite3.Error as error:
            log.warning("a row of %s does not fit: %s", table, error)
    return count


def _readable_rows(source: sqlite3.Connection, select: str) -> Iterator[tuple[object, ...]]:
    """Every row that can be read, stepping over those that cannot, ever further."""
    last, step = -1, 1
    while step <= _LARGEST_GAP:
        try:
            query = f"{select} WHERE rowid >= ? ORDER BY rowid"
            for rowid, *row in source.execute(query, (last + step,)):
                last, step = rowid, 1
                yield tuple(row)
            return
        except sqlite3.DatabaseError as error:
            log.warning("rows after %d cannot be read: %s", last, error)
            last, step = last + step, step * 2


def _mend_references(target: sqlite3.Connection) -> None:
    """Drop what belongs to nothing; a message whose parent is lost becomes a first message."""
    target.execute(
        "INSERT INTO conversation (id, title, title_source, created_at, updated_at)"
        " SELECT conversation_id, 'Recovered', 'person', min(created_at), max(created_at)"
        " FROM message WHERE conversation_id NOT IN (SELECT id FROM conversation)"
        " GROUP BY conversation_id"
    )
    target.execute(
        "UPDATE message SET parent_id = NULL WHERE parent_id NOT IN (SELECT id FROM message)"
    )
    target.execute("DELETE FROM attachment WHERE message_id NOT IN (SELECT id FROM message)")
    target.execute(
        "UPDATE conversation SET folder_id = NULL WHERE folder_id NOT IN (SELECT id FROM folder)"
    )
