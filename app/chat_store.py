"""ChatStore: every conversation in one SQLite file, behind one writer thread.

Threading: lives on the UI thread. `write` and `read` take a function of a connection, run it on
the writer's or the reader's thread, and call back on the UI thread. Writes happen in the order in
which they were asked for, each in a transaction of its own. The functions themselves are in
`app.conversation_rows`, `app.turns`, `app.message_rows`, `app.chat_search` and `app.archive`.
`app/ui` never uses the store: it talks to `ChatController` and `LibraryController`.
"""

import logging
import queue
import sqlite3
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Signal
from shiboken6 import isValid

from app import conversation_rows, message_rows, paths
from app.conversation import Failure
from app.database import (
    OpenedDatabase,
    close_database,
    open_database,
    open_reader,
    told_errors,
    transaction,
)
from engine.errors import MartletError

T = TypeVar("T")
Job = Callable[[], None]

log = logging.getLogger(__name__)


class ChatStore(QObject):
    """Commits and reads conversations. A failed opening is tried again with the next job.

    Signals: see the comment of each.
    """

    # str: the messages of this conversation, or something of its own, changed on the disk
    conversation_touched = Signal(str)
    # the list of conversations or folders changed on the disk
    library_touched = Signal()
    # Failure: from opening (damaged, of a newer version, in a synced folder), or of a job whose
    # asker did not want to hear of it
    failed = Signal(object)
    # str: traceback of a fault of our own in a job
    bug_found = Signal(str)
    _call = Signal(object)  # a function, to be called on this object's thread

    def __init__(self, data: Path) -> None:
        super().__init__()
        self._path = paths.database_file(data)
        self._backups = paths.backups_folder(data)
        self._opened: OpenedDatabase | None = None
        self._reader: sqlite3.Connection | None = None
        self._tried_to_open = threading.Event()
        self._closed = False
        self._apart: list[threading.Thread] = []
        self._call.connect(self._run_call)
        self._writes, self._writing = self._start("store-writer", self._open_early)
        self._reads, self._reading = self._start("store-reader", self._tried_to_open.wait)

    def write(
        self,
        operation: Callable[[sqlite3.Connection], T],
        done: Callable[[T], None] | None = None,
        failed: Callable[[Failure], None] | None = None,
        *,
        touches: str | None = None,
        lists: bool = False,
        durable: bool = False,
    ) -> None:
        """Run `operation` in a transaction; then tell `done` its result, or `failed` why not.

        `touches`: the conversation that it changes. `lists`: it changes the library. `durable`:
        what it commits outlives a power cut (some milliseconds).
        """

        def work() -> T:
            db = self._writer()
            with told_errors(), transaction(db, durable=durable):
                return operation(db)

        def told(result: T) -> None:
            if done is not None:
                _tell(done, result)
            if touches is not None:
                self.conversation_touched.emit(touches)
            if lists:
                self.library_touched.emit()

        self._writes.put(partial(self._do, work, told, failed))

    def write_plainly(self, operation: Callable[[sqlite3.Connection], Any]) -> None:
        """Run `operation` outside of a transaction: upkeep that makes its own."""

        def work() -> None:
            with told_errors():
                operation(self._writer())

        self._writes.put(partial(self._do, work, None, None))

    def read(
        self,
        operation: Callable[[sqlite3.Connection], T],
        done: Callable[[T], None],
        failed: Callable[[Failure], None] | None = None,
    ) -> None:
        """Run `operation` on what is committed when its turn comes; then tell `done` its result."""

        def work() -> T:
            with told_errors():
                if self._reader is None:
                    self._writer_is_open()
                    self._reader = open_reader(self._path)
                return operation(self._reader)

        self._reads.put(partial(self._do, work, partial(_tell, done), failed))

    def read_apart(
        self,
        operation: Callable[[sqlite3.Connection], T],
        done: Callable[[T], None],
        failed: Callable[[Failure], None] | None = None,
    ) -> None:
        """As `read`, on a thread of its own: for what takes seconds, such as an export."""

        def work() -> T:
            with told_errors(), closing(open_reader(self._path)) as connection:
                return operation(connection)

        thread = threading.Thread(
            target=self._do, args=(work, partial(_tell, done), failed), name="store-apart"
        )
        self._apart = [t for t in self._apart if t.is_alive()] + [thread]
        thread.start()

    def close(self) -> None:
        """Finish what was asked for, close the file, join the threads. Nothing is told after."""
        self._closed = True
        for thread in self._apart:
            thread.join()
        self._reads.put(None)
        self._reading.join()
        if self._reader is not None:
            self._reader.close()
        self._writes.put(None)
        self._writing.join()
        if self._opened is not None:
            close_database(self._path, self._opened.connection)

    def _start(
        self, name: str, first: Callable[[], object]
    ) -> tuple["queue.SimpleQueue[Job | None]", threading.Thread]:
        jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        thread = threading.Thread(target=_work, args=(jobs, first), name=name, daemon=True)
        thread.start()
        return jobs, thread

    def _do(
        self,
        work: Callable[[], T],
        done: Callable[[T], None] | None,
        failed: Callable[[Failure], None] | None,
    ) -> None:
        """On a job's thread, its outermost frame: nothing that goes wrong ends the thread."""
        try:
            result = work()
        except MartletError as error:
            log.warning("%s", error)
            failure = Failure(type(error).__name__, error.message, error.remedy)
            self._call.emit(partial(_tell, failed or self.failed.emit, failure))
        except Exception:
            log.exception("a job of the store failed")
            self._call.emit(partial(self.bug_found.emit, traceback.format_exc()))
            if failed is not None:
                bug = Failure("Bug", "Martlet met a fault of its own.", "A report is ready.")
                self._call.emit(partial(_tell, failed, bug))
        else:
            if done is not None:
                self._call.emit(partial(done, result))

    def _open_early(self) -> None:
        self._do(self._writer, None, None)
        self._tried_to_open.set()

    def _writer(self) -> sqlite3.Connection:
        """The writer's connection, on its thread. Raises StoreFailed."""
        if self._opened is None:
            opened = open_database(self._path, self._backups)
            if not opened.read_only:
                _tidy(opened.connection)
            self._opened = opened
            for notice in opened.notices:
                failure = Failure(type(notice).__name__, notice.message, notice.remedy)
                self._call.emit(partial(self.failed.emit, failure))
        elif self._opened.read_only:
            raise self._opened.notices[0]
        return self._opened.connection

    def _writer_is_open(self) -> None:
        if self._opened is None:
            self._writes.put(
                partial(self._do, self._writer, None, None)
            )  # try again, for next time
            raise MartletError("Your conversations cannot be read.", "Check the data folder.")

    def _run_call(self, call: Callable[[], None]) -> None:
        if not self._closed:
            call()


def _work(jobs: "queue.SimpleQueue[Job | None]", first: Callable[[], object]) -> None:
    first()
    while (job := jobs.get()) is not None:
        job()


def _tidy(db: sqlite3.Connection) -> None:
    """After opening: nothing is being answered, and what was deleted long ago goes."""
    with transaction(db):
        message_rows.mark_interrupted(db)
        purged = conversation_rows.purge(db, time.time())
    if purged:
        conversation_rows.scrub(db)


def _tell(receiver: Callable[[T], Any], value: T) -> None:
    """Call back, unless the receiver was a Qt object that is gone by now."""
    method = receiver.func if isinstance(receiver, partial) else receiver
    owner = getattr(method, "__self__", None)
    if not isinstance(owner, QObject) or isValid(owner):
        receiver(value)
