"""Opening: a new file, an old one, a newer one, a damaged one, and after an unclean end."""

import errno
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app import turns
from app.conversation import Conversation
from app.database import (
    KEPT_BACKUPS,
    DamagedStore,
    NewerStore,
    StoreFailed,
    SyncedStore,
    close_database,
    open_database,
    open_reader,
    told_errors,
    transaction,
)
from app.message_rows import read_messages
from app.schema import STEPS
from engine.errors import NotEnoughDisk


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "conversations.db"


@pytest.fixture
def backups(tmp_path: Path) -> Path:
    return tmp_path / "data" / "backups"


def add_folder_and_fail(db: sqlite3.Connection) -> None:
    with transaction(db):
        db.execute("INSERT INTO folder (id, name, position) VALUES ('f', 'n', 0)")
        raise ZeroDivisionError


def fill(db: sqlite3.Connection, count: int = 50) -> None:
    with transaction(db, durable=True):
        for number in range(count):
            conversation = Conversation(f"c{number}", "", created_at=1.0, updated_at=1.0)
            turns.add_turn(db, conversation, f"turn {number} " * 200, (), 1.0)


def test_a_new_file(path: Path, backups: Path) -> None:
    opened = open_database(path, backups)
    assert not opened.notices
    pragmas = {"journal_mode": "wal", "foreign_keys": 1, "user_version": len(STEPS)}
    for name, value in pragmas.items():
        assert opened.connection.execute(f"PRAGMA {name}").fetchone() == (value,)
    assert opened.connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)
    close_database(path, opened.connection)
    assert not backups.exists()


def test_a_transaction_is_all_or_nothing(path: Path, backups: Path) -> None:
    with closing(open_database(path, backups).connection) as db:
        with pytest.raises(ZeroDivisionError):
            add_folder_and_fail(db)
        assert not db.in_transaction
        assert db.execute("SELECT count(*) FROM folder").fetchone() == (0,)


def test_a_reader_cannot_write(path: Path, backups: Path) -> None:
    with (
        closing(open_database(path, backups).connection),
        closing(open_reader(path)) as reader,
        pytest.raises(sqlite3.OperationalError, match="readonly"),
    ):
        reader.execute("DELETE FROM folder")


ADDED = ("ALTER TABLE folder ADD COLUMN colour TEXT", "UPDATE folder SET colour = 'blue'")


def test_a_migration_keeps_all_and_backs_up_first(path: Path, backups: Path) -> None:
    opened = open_database(path, backups)
    fill(opened.connection, 3)
    close_database(path, opened.connection)
    opened = open_database(path, backups, (*STEPS, ADDED))
    assert opened.connection.execute("PRAGMA user_version").fetchone() == (len(STEPS) + 1,)
    assert len(read_messages(opened.connection, "c1")) == 2
    close_database(path, opened.connection)
    (backup,) = backups.iterdir()
    with closing(sqlite3.connect(backup)) as old:
        assert old.execute("PRAGMA user_version").fetchone() == (len(STEPS),)
        assert old.execute("SELECT count(*) FROM message").fetchone() == (6,)


def test_a_migration_that_fails_changes_nothing(path: Path, backups: Path) -> None:
    close_database(path, open_database(path, backups).connection)
    broken = ("ALTER TABLE folder ADD COLUMN colour TEXT", "UPDATE nowhere SET x = 1")
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        open_database(path, backups, (*STEPS, broken))
    opened = open_database(path, backups)
    columns = opened.connection.execute("PRAGMA table_info(folder)").fetchall()
    assert "colour" not in [column[1] for column in columns]
    close_database(path, opened.connection)


def test_only_the_latest_backups_stay(path: Path, backups: Path) -> None:
    close_database(path, open_database(path, backups).connection)
    backups.mkdir()
    for day in range(5):
        (backups / f"conversations-v0-2020010{day}.db").touch()
    close_database(path, open_database(path, backups, (*STEPS, ADDED)).connection)
    assert len(list(backups.iterdir())) == KEPT_BACKUPS


def test_a_newer_file_can_be_read_only(path: Path, backups: Path) -> None:
    opened = open_database(path, backups, (*STEPS, ADDED))
    fill(opened.connection, 1)
    close_database(path, opened.connection)
    opened = open_database(path, backups)
    assert opened.read_only
    assert isinstance(opened.notices[0], NewerStore)
    assert len(read_messages(opened.connection, "c0")) == 2
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        opened.connection.execute("DELETE FROM message")
    assert opened.connection.execute("PRAGMA user_version").fetchone() == (len(STEPS) + 1,)
    close_database(path, opened.connection)


def test_damage_is_found_after_an_unclean_end(path: Path, backups: Path) -> None:
    opened = open_database(path, backups)
    fill(opened.connection)
    opened.connection.execute("PRAGMA wal_checkpoint (TRUNCATE)").fetchall()
    opened.connection.close()  # as a kill would: the mark stays
    damage(path)
    opened = open_database(path, backups)
    (notice,) = opened.notices
    assert isinstance(notice, DamagedStore)
    assert opened.connection.execute("PRAGMA quick_check").fetchone() == ("ok",)
    (rows,) = opened.connection.execute("SELECT count(*) FROM message").fetchone()
    assert 0 < rows < 100
    assert opened.connection.execute("PRAGMA foreign_key_check").fetchall() == []
    (aside,) = backups.glob("damaged-*")
    assert (aside / path.name).exists()
    close_database(path, opened.connection)


def damage(path: Path) -> None:
    """Zero the middle fifth, as a power cut on a lying disk does; the schema stays readable."""
    data = bytearray(path.read_bytes())
    start, end = len(data) * 2 // 5, len(data) * 3 // 5
    data[start:end] = bytes(end - start)
    path.write_bytes(data)


def test_a_file_that_is_no_database_is_set_aside(path: Path, backups: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(bytes(100_000))
    opened = open_database(path, backups)
    assert [type(notice) for notice in opened.notices] == [DamagedStore]
    fill(opened.connection, 1)
    close_database(path, opened.connection)


def test_a_sound_file_after_an_unclean_end_stays(path: Path, backups: Path) -> None:
    opened = open_database(path, backups)
    fill(opened.connection, 2)
    opened.connection.close()
    opened = open_database(path, backups)
    assert not opened.notices
    assert opened.connection.execute("SELECT count(*) FROM message").fetchone() == (4,)
    close_database(path, opened.connection)


def test_a_synced_folder_gets_no_wal_and_a_notice(tmp_path: Path) -> None:
    path = tmp_path / "Dropbox" / "conversations.db"
    opened = open_database(path, tmp_path / "backups")
    assert isinstance(opened.notices[0], SyncedStore)
    assert opened.connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    close_database(path, opened.connection)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreFailed, match="cannot be saved or read"):
        open_database(tmp_path / "file" / "conversations.db", tmp_path / "backups")


def test_a_full_disk_is_told_and_the_connection_goes_on(path: Path, backups: Path) -> None:
    with closing(open_database(path, backups).connection) as db:
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages + 20}")
        with pytest.raises(NotEnoughDisk, match="The disk is full"), told_errors():
            fill(db)
        assert not db.in_transaction
        db.execute("PRAGMA max_page_count = 100000")
        fill(db)
        assert db.execute("PRAGMA quick_check").fetchone() == ("ok",)


def test_errors_of_the_file_system_are_told() -> None:
    with pytest.raises(NotEnoughDisk), told_errors():
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(StoreFailed, match="Input/output error"), told_errors():
        raise OSError(errno.EIO, "Input/output error")


def test_our_own_faults_are_not_excused() -> None:
    with (
        closing(sqlite3.connect(":memory:")) as db,
        pytest.raises(sqlite3.ProgrammingError),
        told_errors(),
    ):
        db.execute("SELECT ?", ())


def test_a_wrong_statement_is_not_excused(path: Path, backups: Path) -> None:
    with (
        closing(open_database(path, backups).connection) as db,
        pytest.raises(sqlite3.OperationalError, match="no such table"),
        told_errors(),
    ):
        db.execute("SELECT 1 FROM nowhere")
