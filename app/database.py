"""Opening the database: pragmas, migrations behind a backup, a check after an unclean end.

Knows SQLite and files; not what is in the tables. WAL with one writer: a killed process loses
nothing that was committed; what was committed durably outlives a power cut too.
"""

import errno
import logging
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.salvage import salvage
from app.schema import STEPS, Step
from engine.errors import MartletError, NotEnoughDisk

KEPT_BACKUPS = 3
BUSY_MS = 5000
_SYNCED_FOLDERS = {"Mobile Documents", "CloudStorage", "Dropbox", "OneDrive", "Google Drive"}

_FAULTS_OF_THE_PLACE = {
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY),
    *(sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED),
    *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM),
}

log = logging.getLogger(__name__)


class StoreFailed(MartletError):
    """The database could not be read or written: no permission, a failing disk, damage."""


class NewerStore(StoreFailed):
    """The database was written by a newer version of Martlet: it can only be read."""


class DamagedStore(StoreFailed):
    """The database was damaged; what could be read of it was kept."""


class SyncedStore(StoreFailed):
    """The data folder is kept in step with a cloud, which can damage a database in use."""


@dataclass(slots=True)
class OpenedDatabase:
    """The writer's connection, and what the person should be told."""

    connection: sqlite3.Connection
    notices: list[StoreFailed]
    read_only: bool = False


def open_database(path: Path, backups: Path, steps: Sequence[Step] = STEPS) -> OpenedDatabase:
    """Open for writing; make, migrate or rescue first where needed. Raises StoreFailed."""
    with told_errors():
        path.parent.mkdir(parents=True, exist_ok=True)
        unclean = _open_mark(path).exists()
        _open_mark(path).touch()
        if unclean and path.exists() and not _is_sound(path):
            return _rescue(path, backups, steps)
        try:
            return _open(path, backups, steps)
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            return _rescue(path, backups, steps)


def open_reader(path: Path) -> sqlite3.Connection:
    """Another connection to an open database, which cannot write."""
    with told_errors():
        connection = connect(path)
        connection.execute("PRAGMA query_only = ON")
        return connection


def close_database(path: Path, connection: sqlite3.Connection) -> None:
    """Close the writer's connection and note that the end was clean."""
    connection.close()
    _open_mark(path).unlink(missing_ok=True)


def connect(path: Path) -> sqlite3.Connection:
    """A connection in autocommit mode: transactions begin and end where we say."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection, *, durable: bool = False) -> Iterator[None]:
    """All or nothing. `durable`: on the medium before it returns, against a power cut."""
    connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:  # some errors, such as a full disk, end it by themselves
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def told_errors() -> Iterator[None]:
    """Faults of the disk or the file in words for a person. Faults of our own SQL pass."""
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _FAULTS_OF_THE_PLACE:
            raise
        raise _told(error) from error
    except OSError as error:
        raise _told(error) from error


def _told(error: Exception) -> MartletError:
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_FULL or getattr(error, "errno", None) == errno.ENOSPC:
        return NotEnoughDisk(
            "The disk is full, so your conversations cannot be saved.",
            "Free some space; Martlet keeps trying.",
        )
    return StoreFailed(
        f"Your conversations cannot be saved or read: {error}.",
        "Check that the data folder's disk is there and can be written.",
    )


def _open(path: Path, backups: Path, steps: Sequence[Step]) -> OpenedDatabase:
    connection = connect(path)
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > len(steps):
            connection.execute("PRAGMA query_only = ON")
            return OpenedDatabase(connection, [_newer(version, len(steps))], read_only=True)
        if version == 0:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        notices = _set_journal(connection, path)
        _migrate(connection, version, backups, steps)
    except BaseException:
        connection.close()
        raise
    return OpenedDatabase(connection, notices)


def _newer(version: int, ours: int) -> NewerStore:
    return NewerStore(
        f"Your conversations were last used by a newer Martlet (format {version}, this one knows "
        f"{ours}).",
        "You can read them here; to write, use the newer Martlet.",
    )


def _set_journal(connection: sqlite3.Connection, path: Path) -> list[StoreFailed]:
    """WAL needs shared memory, which a folder that a cloud keeps in step does not carry along."""
    connection.execute("PRAGMA fullfsync = ON")  # macOS: a plain fsync stops at the drive's cache
    connection.execute("PRAGMA checkpoint_fullfsync = ON")
    connection.execute("PRAGMA secure_delete = ON")
    synced = _SYNCED_FOLDERS.intersection(path.absolute().parts)
    connection.execute(f"PRAGMA journal_mode = {'DELETE' if synced else 'WAL'}")
    if not synced:
        return []
    return [
        SyncedStore(
            f"Your conversations lie in {min(synced)}, which copies files while they are in use.",
            "Move the data folder out of it to be safe.",
        )
    ]


def _migrate(
    connection: sqlite3.Connection, version: int, backups: Path, steps: Sequence[Step]
) -> None:
    if 0 < version < len(steps):
        _back_up(connection, version, backups)
    for number, step in enumerate(steps[version:], start=version + 1):
        with transaction(connection, durable=True):
            for statement in step:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")


def _back_up(connection: sqlite3.Connection, version: int, backups: Path) -> None:
    backups.mkdir(parents=True, exist_ok=True)
    target = backups / f"conversations-v{version}-{_stamp()}.db"
    partial = target.with_suffix(".partial")
    with closing(sqlite3.connect(partial)) as copy:
        connection.backup(copy)
    partial.replace(target)
    kept = sorted(backups.glob("conversations-v*.db"), key=lambda p: p.stat().st_mtime)
    for old in kept[:-KEPT_BACKUPS]:
        old.unlink()


def _is_sound(path: Path) -> bool:
    try:
        with closing(connect(path)) as connection:
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except sqlite3.DatabaseError as error:
        if not _is_damage(error):
            raise
        return False


def _is_damage(error: sqlite3.Error) -> bool:
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _rescue(path: Path, backups: Path, steps: Sequence[Step]) -> OpenedDatabase:
    """Set the damaged file aside, and go on with a new one that holds what could be read."""
    aside = backups / f"damaged-{_stamp()}"
    aside.mkdir(parents=True)
    for file in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        if file.exists():
            shutil.move(file, aside / file.name)
    log.error("the database was damaged; it is now in %s", aside)
    opened = _open(path, backups, steps)
    rows = salvage(aside / path.name, opened.connection)
    opened.notices.append(
        DamagedStore(
            f"Your conversations were damaged. {rows:,} rows could be read and are kept.",
            f"The damaged file is in {aside}.",
        )
    )
    return opened


def _open_mark(path: Path) -> Path:
    return path.with_name(f"{path.name}.open")


def _stamp() -> str:
    return time.strftime("%Y%m%d-%H%M%S")
