"""LibraryController: the sidebar: every conversation, folders, search, deletion, import and export.

Threading: lives on the UI thread; methods return at once; the store answers through signals.
"""

import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from app import conversation_rows, exchange
from app.answer_queue import AnswerQueue
from app.archive import Archive
from app.chat_search import search
from app.chat_store import ChatStore
from app.conversation import (
    Conversation,
    Deletion,
    Failure,
    Library,
    QueuedAnswer,
    SearchResults,
)
from app.exchange import Form
from app.typed_text import storable


class LibraryController(QObject):
    """The list of conversations and what can be done with them.

    Signals: see the comment of each.
    """

    # Library: the whole list after any change of it (also once after refresh())
    changed = Signal(object)
    # frozenset[str]: ids of conversations with a running or waiting answer
    active_changed = Signal(object)
    # SearchResults: the answer to the latest search(); earlier ones are dropped
    search_finished = Signal(object)
    # Deletion: conversations or a folder were deleted; offer Undo
    deleted = Signal(object)
    # tuple[str, ...]: these conversations go, to Recently Deleted or for good
    going = Signal(object)
    # tuple[Conversation, ...]: the answer to list_deleted(), latest deletion first
    deleted_listed = Signal(object)
    # str: path of the file or folder that an export wrote
    exported = Signal(str)
    # tuple[str, ...]: ids of the conversations that an import added
    imported = Signal(object)
    # Failure: something could not be done, in words for a sheet or banner
    failed = Signal(object)

    def __init__(self, store: ChatStore, answers: AnswerQueue) -> None:
        super().__init__()
        self._store = store
        self._answers = answers
        self._library = Library()
        self._active: frozenset[str] = frozenset()
        self._query = ""
        self._refresh_timer = QTimer(self, interval=0, singleShot=True)  # many changes, one list
        self._refresh_timer.timeout.connect(self._read)
        store.library_touched.connect(self.refresh)
        answers.queue_changed.connect(self._queue_changed)

    @property
    def library(self) -> Library:
        """The list as it was last told."""
        return self._library

    def refresh(self) -> None:
        """Read the list again; `changed` follows."""
        self._refresh_timer.start()

    def search(self, query: str) -> None:
        """Look for words in titles and in every branch. Empty: no hits."""
        self._query = query = storable(query)
        self._store.read(partial(search, query=query), self._found, self._failed)

    def rename(self, conversation_id: str, title: str) -> None:
        """Name by hand; the model never renames it again. Empty: no name, as at first."""
        rename = partial(conversation_rows.rename, id=conversation_id, title=storable(title))
        self._write(rename)

    def set_pinned(self, conversation_id: str, pinned: bool) -> None:
        """Keep at the top, or no longer."""
        pin = partial(conversation_rows.set_pinned, id=conversation_id, pinned=pinned)
        self._write(pin)

    def create_folder(self, name: str) -> None:
        """A new folder after the others."""
        self._write(partial(conversation_rows.create_folder, name=storable(name)))

    def rename_folder(self, folder_id: str, name: str) -> None:
        """Another name for a folder."""
        self._write(partial(conversation_rows.rename_folder, id=folder_id, name=storable(name)))

    def move(self, conversation_ids: Sequence[str], folder_id: str | None) -> None:
        """Into a folder, or out of every one."""
        move = partial(conversation_rows.move, ids=tuple(conversation_ids), folder_id=folder_id)
        self._write(move)

    def delete(self, conversation_ids: Sequence[str]) -> None:
        """To Recently Deleted, where they stay 30 days. A running answer is stopped first."""
        ids = tuple(conversation_ids)
        self._end_answers(ids)
        self._write(partial(conversation_rows.delete, ids=ids, at=time.time()), self._was_deleted)

    def delete_folder(self, folder_id: str) -> None:
        """The folder and its conversations; Undo brings all back in their order."""
        inside = [c.id for c in self._library.conversations if c.folder_id == folder_id]
        self._end_answers(inside)
        delete = partial(conversation_rows.delete_folder, id=folder_id, at=time.time())
        self._write(delete, self._was_deleted)

    def undo_delete(self, deletion_id: str) -> None:
        """Take a deletion back."""
        self._write(partial(conversation_rows.undo_delete, deletion_id=deletion_id))

    def list_deleted(self) -> None:
        """Ask for what lies in Recently Deleted."""
        self._store.read(conversation_rows.read_deleted, self._listed_deleted, self._failed)

    def restore(self, conversation_ids: Sequence[str]) -> None:
        """Out of Recently Deleted."""
        self._write(partial(conversation_rows.restore, ids=tuple(conversation_ids)))

    def erase(self, conversation_ids: Sequence[str]) -> None:
        """For good, now: text, index and free pages."""
        self._end_answers(conversation_ids)
        self._write(partial(conversation_rows.erase, ids=tuple(conversation_ids)))
        self._store.write_plainly(conversation_rows.scrub)

    def export(self, conversation_ids: Sequence[str] | None, target: Path, form: Form) -> None:
        """One conversation into the file `target`; several or all (None) into the folder."""
        if conversation_ids is not None and len(conversation_ids) == 1:
            export = partial(exchange.export_one, id=conversation_ids[0], target=target, form=form)
            self._store.read_apart(export, self._was_exported, self._failed)
            return
        ids = None if conversation_ids is None else tuple(conversation_ids)
        export_all = partial(exchange.export_many, ids=ids, folder=target, form=form)
        self._store.read_apart(export_all, self._was_exported, self._failed)

    def import_(self, source: Path) -> None:
        """Conversations from a JSON file that `export` wrote, or from a folder of them."""
        read = partial(_read_files, source)
        self._store.read_apart(read, self._write_imported, self._failed)

    def _write(
        self,
        operation: Callable[[sqlite3.Connection], Any],
        done: Callable[[Any], None] | None = None,
    ) -> None:
        self._store.write(operation, done, self._failed, lists=True, durable=True)

    def _read(self) -> None:
        self._store.read(conversation_rows.read_library, self._was_read, self._failed)

    def _was_read(self, library: Library) -> None:
        self._library = library
        self.changed.emit(library)

    def _end_answers(self, conversation_ids: Sequence[str]) -> None:
        for queued in self._answers.answers:
            if queued.conversation_id in conversation_ids:
                self._answers.end(queued.message_id)
        self.going.emit(tuple(conversation_ids))

    def _queue_changed(self, answers: tuple[QueuedAnswer, ...]) -> None:
        active = frozenset(queued.conversation_id for queued in answers)
        if active != self._active:
            self._active = active
            self.active_changed.emit(active)

    def _found(self, results: SearchResults) -> None:
        if results.query == self._query:
            self.search_finished.emit(results)

    def _was_deleted(self, deletion: Deletion) -> None:
        self.deleted.emit(deletion)

    def _listed_deleted(self, conversations: tuple[Conversation, ...]) -> None:
        self.deleted_listed.emit(conversations)

    def _was_exported(self, path: Path) -> None:
        self.exported.emit(str(path))

    def _write_imported(self, archives: tuple[Archive, ...]) -> None:
        self._write(partial(exchange.write_archives, archives=archives), self._was_imported)

    def _was_imported(self, ids: tuple[str, ...]) -> None:
        self.imported.emit(ids)

    def _failed(self, failure: Failure) -> None:
        self.failed.emit(failure)


def _read_files(source: Path, _: sqlite3.Connection) -> tuple[Archive, ...]:
    return exchange.read_files(source)
