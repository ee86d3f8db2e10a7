"""Notices: what controllers tell that a person should know, as banners of one window."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject

from app.chat_controller import ChatController
from app.conversation import Deletion, Failure
from app.engine_state import EngineDeath, EngineState, MemoryNote
from app.ui.banner import BannerAction, BannerArea, Kind
from app.ui.commands.model import ModelCommands
from app.ui.settings.folders import reveal
from app.workspace import Workspace

UNDO_SECONDS = 10.0
NOTE_SECONDS = 20.0


class Notices(QObject):
    """Listens, and shows."""

    def __init__(
        self,
        banners: BannerArea,
        workspace: Workspace,
        chat: ChatController,
        models: ModelCommands,
    ) -> None:
        super().__init__(banners)
        self._banners = banners
        self._workspace = workspace
        self._models = models
        self._death: EngineDeath | None = None  # what was said already
        self._load_failure: Failure | None = None
        library, engine = workspace.library, workspace.engine
        self._chat = chat
        # Bound methods: they are let go with the window, unlike functions without an owner.
        library.deleted.connect(self._on_deleted)
        chat.deleted.connect(self._on_message_deleted)
        library.exported.connect(self._on_exported)
        library.imported.connect(self._on_imported)
        for signal in (library.failed, chat.failed):
            signal.connect(self.show_failure)
        engine.state_changed.connect(self._on_engine)
        engine.memory_changed.connect(self._on_memory)
        self._on_engine(engine.state)

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

    def _on_engine(self, state: EngineState) -> None:
        self._show_death(state)
        self._show_load_failure(state)

    def _show_death(self, state: EngineState) -> None:
        if state.death is None:
            self._banners.hide_banner("engine")
        elif state.death != self._death:
            restart = BannerAction(self.tr("Restart"), self._workspace.engine.restart)
            words = _sentence(state.death.message, state.death.remedy)
            self._banners.show_banner("engine", "error", words, [restart])
        self._death = state.death

    def _show_load_failure(self, state: EngineState) -> None:
        failure = state.load_failure
        if failure is None:
            self._banners.hide_banner("load")
        elif failure != self._load_failure:
            choose = BannerAction(self.tr("Open Model…"), self._models.open_model)
            words = _sentence(failure.message, failure.remedy)
            self._banners.show_banner("load", "warning", words, [choose])
        self._load_failure = failure

    def _on_memory(self, note: MemoryNote) -> None:
        kind: Kind = "info" if note.level == "normal" else "warning"
        self._banners.show_banner("memory", kind, note.message, seconds=NOTE_SECONDS)

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
