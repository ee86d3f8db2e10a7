"""LibraryController: the sidebar: every conversation, folders, search, deletion, import and export.

Threading: lives on the UI thread; methods return at once; the store answers through signals.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QObject, Signal

from app.conversation import Library


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
    # tuple[Conversation, ...]: the answer to list_deleted(), latest deletion first
    deleted_listed = Signal(object)
    # str: path of the file or folder that an export wrote
    exported = Signal(str)
    # tuple[str, ...]: ids of the conversations that an import added
    imported = Signal(object)
    # Failure: something could not be done, in words for a sheet or banner
    failed = Signal(object)

    @property
    def library(self) -> Library:
        """The list as it was last told."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Read the list again; `changed` follows."""

    def search(self, query: str) -> None:
        """Look for words in titles and in every branch. Empty: no hits."""

    def rename(self, conversation_id: str, title: str) -> None:
        """Name by hand; the model never renames it again. Empty: no name, as at first."""

    def set_pinned(self, conversation_id: str, pinned: bool) -> None:
        """Keep at the top, or no longer."""

    def create_folder(self, name: str) -> None:
        """A new folder after the others."""

    def rename_folder(self, folder_id: str, name: str) -> None:
        """Another name for a folder."""

    def move(self, conversation_ids: Sequence[str], folder_id: str | None) -> None:
        """Into a folder, or out of every one."""

    def delete(self, conversation_ids: Sequence[str]) -> None:
        """To Recently Deleted, where they stay 30 days. A running answer is stopped first."""

    def delete_folder(self, folder_id: str) -> None:
        """The folder and its conversations; Undo brings all back in their order."""

    def undo_delete(self, deletion_id: str) -> None:
        """Take a deletion back."""

    def list_deleted(self) -> None:
        """Ask for what lies in Recently Deleted."""

    def restore(self, conversation_ids: Sequence[str]) -> None:
        """Out of Recently Deleted."""

    def erase(self, conversation_ids: Sequence[str]) -> None:
        """For good, now: text, index and free pages."""

    def export(
        self,
        conversation_ids: Sequence[str] | None,
        target: Path,
        form: Literal["markdown", "json"],
    ) -> None:
        """One conversation into the file `target`; several or all (None) into the folder."""

    def import_(self, source: Path) -> None:
        """Conversations from a JSON file that `export` wrote."""
