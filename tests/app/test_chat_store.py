"""The store's threads: order, answers on the UI thread, faults that end nothing, a clean close."""

import sqlite3
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QObject, Signal

from app import conversation_rows, paths, turns
from app.chat_store import ChatStore
from app.conversation import Conversation, Failure
from app.database import close_database, open_database
from app.schema import STEPS
from tests.app.conftest import Heard, WaitFor


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def store(data: Path, qapp: QCoreApplication) -> Iterator[ChatStore]:
    store = ChatStore(data)
    yield store
    store.close()


def add_turn(db: sqlite3.Connection, text: str) -> None:
    turns.add_turn(db, Conversation("c", ""), text, (), 1.0)


def count_messages(db: sqlite3.Connection) -> int:
    (count,) = db.execute("SELECT count(*) FROM message").fetchone()
    return int(count)


def test_jobs_run_in_order_elsewhere_and_answer_here(store: ChatStore, wait_for: WaitFor) -> None:
    where: list[threading.Thread] = []
    results: list[int] = []

    def job(number: int, _: sqlite3.Connection) -> int:
        where.append(threading.current_thread())
        return number

    def done(number: int) -> None:
        assert threading.current_thread() is threading.main_thread()
        results.append(number)

    for number in range(50):
        store.write(partial(job, number), done)
    wait_for(lambda: len(results) == 50)
    assert results == list(range(50))
    assert {thread.name for thread in where} == {"store-writer"}


def test_what_was_written_is_read(store: ChatStore, wait_for: WaitFor) -> None:
    touched, listed = Heard(store.conversation_touched), []
    store.library_touched.connect(lambda: listed.append(True))
    store.write(partial(add_turn, text="hi"), touches="c", lists=True, durable=True)
    wait_for(lambda: listed)
    assert touched.told == ["c"]
    counts: list[int] = []
    store.read(count_messages, counts.append)
    store.read_apart(count_messages, counts.append)
    wait_for(lambda: counts == [2, 2])


def test_a_failing_job_changes_nothing_and_ends_nothing(
    store: ChatStore, wait_for: WaitFor
) -> None:
    bugs, failures = Heard(store.bug_found), []

    def fail(db: sqlite3.Connection) -> None:
        add_turn(db, "lost")
        raise ZeroDivisionError("in a job")

    store.write(fail, failed=failures.append)
    store.write(partial(add_turn, text="kept"))
    counts: list[int] = []
    store.write(count_messages, counts.append)
    wait_for(lambda: counts)
    assert counts == [2]
    assert "ZeroDivisionError: in a job" in bugs.last
    assert failures[0].kind == "Bug"


def test_a_full_disk_is_told_to_the_asker(store: ChatStore, wait_for: WaitFor) -> None:
    failures: list[Failure] = []

    def fill(db: sqlite3.Connection) -> None:
        add_turn(db, "x" * 10_000_000)

    store.write_plainly(lambda db: db.execute("PRAGMA max_page_count = 100").fetchall())
    store.write(fill, failed=failures.append)
    wait_for(lambda: failures)
    assert failures[0].kind == "NotEnoughDisk"
    counts: list[int] = []
    store.read(count_messages, counts.append)
    wait_for(lambda: counts == [0])


def test_without_an_asker_failures_come_as_a_signal(store: ChatStore, wait_for: WaitFor) -> None:
    failed = Heard(store.failed)
    store.write_plainly(lambda db: db.execute("PRAGMA query_only = ON"))
    store.write(partial(add_turn, text="hi"))
    wait_for(lambda: failed.told)
    assert failed.last.kind == "StoreFailed"


def test_close_finishes_what_was_asked_for(data: Path, qapp: QCoreApplication) -> None:
    store = ChatStore(data)
    for number in range(100):
        store.write(partial(add_turn, text=str(number)))
    store.close()
    opened = open_database(paths.database_file(data), data / "backups")
    assert count_messages(opened.connection) == 200
    close_database(paths.database_file(data), opened.connection)
    assert not (data / "conversations.db.open").exists()
    qapp.processEvents()


def test_the_next_start_tidies_up(data: Path, qapp: QCoreApplication, wait_for: WaitFor) -> None:
    store = ChatStore(data)
    store.write(partial(add_turn, text="waits"))
    deletion = partial(conversation_rows.delete, ids=["c"], at=0.0)
    store.write(
        partial(turns.add_turn, conversation=Conversation("d", ""), text="", attachments=(), at=1.0)
    )
    store.write(deletion)
    store.close()
    store = ChatStore(data)
    states: list[list[tuple[str, str]]] = []
    query = "SELECT conversation_id, status FROM message ORDER BY number"
    store.read(lambda db: db.execute(query).fetchall(), states.append)
    wait_for(lambda: states)
    assert states == [[("d", "complete"), ("d", "interrupted")]]
    store.close()


def test_a_newer_file_is_readable_and_refuses_writes(
    data: Path, qapp: QCoreApplication, wait_for: WaitFor
) -> None:
    path = paths.database_file(data)
    opened = open_database(path, data / "backups", (*STEPS, ()))
    add_turn(opened.connection, "hi")
    close_database(path, opened.connection)
    store = ChatStore(data)
    failed, failures, counts = Heard(store.failed), [], []
    store.write(partial(add_turn, text="no"), failed=failures.append)
    store.read(count_messages, counts.append)
    wait_for(lambda: failed.told and failures and counts)
    assert failed.last.kind == "NewerStore"
    assert failures[0].kind == "NewerStore"
    assert counts == [2]
    store.close()


def test_a_place_that_comes_back_is_used_again(
    tmp_path: Path, qapp: QCoreApplication, wait_for: WaitFor
) -> None:
    data = tmp_path / "volume" / "data"
    data.parent.touch()
    store = ChatStore(data)
    failed = Heard(store.failed)
    wait_for(lambda: failed.told)
    failures: list[Failure] = []
    store.read(count_messages, lambda _: None, failures.append)
    wait_for(lambda: failures)
    data.parent.unlink()
    counts: list[int] = []
    store.write(partial(add_turn, text="hi"))
    store.write(count_messages, counts.append)
    wait_for(lambda: counts == [2])
    store.close()


def test_an_asker_that_is_gone_is_not_called(store: ChatStore, wait_for: WaitFor) -> None:
    class Asker(QObject):
        told = Signal(int)

        def done(self, count: int) -> None:
            self.told.emit(count)

    asker = Asker()
    gate = threading.Event()
    store.read(lambda _: gate.wait(30), lambda _: None)
    store.read(count_messages, asker.done)
    store.read(count_messages, partial(asker.done))
    asker.deleteLater()
    QCoreApplication.sendPostedEvents(asker, 0)
    del asker
    QCoreApplication.processEvents()
    gate.set()
    counts: list[int] = []
    store.read(count_messages, counts.append)
    wait_for(lambda: counts)


def test_a_hundred_thousand_signals_with_true(store: ChatStore, wait_for: WaitFor) -> None:
    """A binding that miscounts references to True kills the process after some 600."""

    class Source(QObject):
        told = Signal(bool, object)

    source = Source()
    heard = [0]

    def hear(_: bool, value: object) -> None:
        heard[0] += value is True

    source.told.connect(hear)
    for _ in range(100_000):
        source.told.emit(True, True)
    assert heard == [100_000]
