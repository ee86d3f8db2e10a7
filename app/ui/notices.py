"""Notices: what controllers tell that a person should know, as banners of one window.

What concerns the engine is told by `app.ui.engine_notices`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject

from app.chat_controller import ChatController
from app.conversation import Deletion, Failure
from app.ui.banner import BannerAction, BannerArea
from app.ui.settings.folders import reveal
from app.workspace import Workspace

UNDO_SECONDS = 10.0


class Notices(QObject):
    """Listens, and shows."""

    def __init__(
        self,
        banners: BannerArea,
        workspace: Workspace,
        chat: ChatController,
    ) -> None:
        super().__init__(banners)
        self._banners = banners
        self._workspace = workspace
        library = workspace.library
        self._chat = chat
        # Bound methods: they are let go with the window, unlike functions without an owner.
        library.deleted.connect(self._on_deleted)
        chat.deleted.connect(self._on_message_deleted)
        library.exported.connect(self._on_exported)
        library.imported.connect(self._on_imported)
        for signal in (library.failed, chat.failed):
            signal.connect(self.show_failure)

    def show_failure(self, failure: Failure) -> None:
        """Something could not be done."""
        self._banners.show_banner("failure", "error", _sentence(failure.message, failure.remedy))

    def _on_deleted(self, deletion: Deletion) -> None:
        self._offer_undo(deletion, self._workspace.library.undo_delete)

    def _on_message_deleted(self, deletion: Deletion) -> None:
        self._offer_undo(deletion, self._chat.undo_delete)

    def _offer_undo(self, deletion: Deletion, undo: Callable[[str], object]) -> None:
        action = BannerAction(self.tr("Undo"), lambda: undo(deletion.id))
        self._banners.show_banner(
            "undo", "trash", self._deleted(deletion), [action], seconds=UNDO_SECONDS
        )

    def _on_exported(self, path: str) -> None:
        words = self.tr("Exported to “%1”.").replace("%1", Path(path).name)
        folder = Path(path) if Path(path).is_dir() else Path(path).parent
        show = BannerAction(self.tr("Reveal"), lambda: reveal(folder))
        self._banners.show_banner("export", "check", words, [show], seconds=UNDO_SECONDS)

    def _on_imported(self, conversation_ids: Sequence[str]) -> None:
        words = self.tr("Imported %n conversation(s).", "", len(conversation_ids))
        self._banners.show_banner("import", "check", words, seconds=UNDO_SECONDS)

    def _deleted(self, deletion: Deletion) -> str:
        if deletion.kind == "folder":
            words = self.tr("Deleted the folder “%1”.")
        elif deletion.kind == "message":
            words = self.tr("Deleted a message and what followed it.")
        elif deletion.count == 1:
            words = self.tr("Deleted “%1”.")
        else:
            words = self.tr("Deleted %n conversation(s).", "", deletion.count)
        return words.replace("%1", deletion.title)


def _sentence(message: str, remedy: str) -> str:
    return f"{message} {remedy}".strip()
