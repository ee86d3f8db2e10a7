"""EngineNotices: what the engine process has to tell that a person should know, as banners.

Each banner states a fact and goes by itself when the fact is over.
"""

from PySide6.QtCore import QObject

from app.conversation import Failure
from app.engine_state import EngineDeath, EngineState, MemoryNote, StorageNote, pause_of
from app.installed_models import model_name
from app.safe_start import Suspicion
from app.ui import figures
from app.ui.banner import BannerAction, BannerArea, Kind
from app.ui.commands.model import ModelCommands
from app.workspace import Workspace

NOTE_SECONDS = 20.0


class EngineNotices(QObject):
    """Listens to the engine, and shows."""

    def __init__(self, banners: BannerArea, workspace: Workspace, models: ModelCommands) -> None:
        super().__init__(banners)
        self._banners = banners
        self._engine = workspace.engine
        self._settings = workspace.settings
        self._models = models
        # What was said already: a banner that the person closed does not come back.
        self._death: EngineDeath | None = None
        self._load_failure: Failure | None = None
        self._pause = ""
        # Bound methods: they are let go with the window, unlike functions without an owner.
        self._engine.state_changed.connect(self._on_engine)
        self._engine.memory_changed.connect(self._on_memory)
        self._engine.storage_changed.connect(self._on_storage)
        workspace.model_watch.returned.connect(self._on_returned)
        workspace.safe_start.settled.connect(self._on_settled)
        if workspace.safe_start.suspicion is not None:
            self._ask_for_less(workspace.safe_start.suspicion)
        self._on_engine(self._engine.state)

    def _ask_for_less(self, suspicion: Suspicion) -> None:
        """The computer went down with a model in memory: nothing is loaded before this is read."""
        words = (
            self.tr("The computer crashed while “%1” was in memory, so it was not loaded again.")
            if suspicion.crashed
            else self.tr(
                "The computer went down while “%1” was in memory, so it was not loaded again."
            )
        )
        path, smaller = suspicion.model, suspicion.smaller_bytes
        actions = []
        if smaller is not None:
            less = self.tr("Load with %1").replace("%1", figures.memory(smaller))
            actions.append(BannerAction(less, lambda: self._load_with(path, smaller)))
        before = self._settings.settings.memory_bytes
        as_before = BannerAction(self.tr("Load as Before"), lambda: self._engine.load(path, before))
        words = words.replace("%1", model_name(path))
        self._banners.show_banner("safe start", "warning", words, [*actions, as_before])

    def _load_with(self, path: str, memory_bytes: int) -> None:
        """From now on with so much memory."""
        self._settings.update(memory_bytes=memory_bytes)
        self._engine.load(path, memory_bytes)

    def _on_settled(self) -> None:
        self._banners.hide_banner("safe start")

    def _on_engine(self, state: EngineState) -> None:
        self._show_death(state)
        self._show_load_failure(state)
        self._show_pause(state)
        if state.model == "loading":
            self._banners.hide_banner("files")

    def _show_death(self, state: EngineState) -> None:
        if state.death is None:
            self._banners.hide_banner("engine")
        elif state.death != self._death:
            restart = BannerAction(self.tr("Restart"), self._engine.restart)
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
            self._banners.hide_banner("files")
        self._load_failure = failure

    def _show_pause(self, state: EngineState) -> None:
        """Why the answer stands still. Heat is not a person's to overrule; it passes."""
        pause, reason = pause_of(state)
        if not reason:
            self._banners.hide_banner("pause")
        elif reason != self._pause:
            go_on = BannerAction(self.tr("Continue"), self._engine.go_on)
            actions = [go_on] if pause == "memory" else []
            self._banners.show_banner("pause", "warning", reason, actions, closable=False)
        self._pause = reason

    def _on_memory(self, note: MemoryNote) -> None:
        kind: Kind = "info" if note.level == "normal" else "warning"
        self._banners.show_banner("memory", kind, note.message, seconds=NOTE_SECONDS)

    def _on_storage(self, note: StorageNote) -> None:
        """The files are there again; or they are other ones, and the model was let go."""
        if note.usable:
            self._banners.show_banner("files", "check", note.message, seconds=NOTE_SECONDS)
        else:
            load = self._load_action(self._engine.state.model_path)
            self._banners.show_banner("files", "warning", note.message, [load])

    def _on_returned(self, path: str) -> None:
        """A model that could not be loaded because it was away."""
        words = self.tr("“%1” is there again.").replace("%1", model_name(path))
        load = self._load_action(path)
        self._banners.show_banner("files", "check", words, [load], seconds=NOTE_SECONDS)

    def _load_action(self, path: str) -> BannerAction:
        memory = self._settings.settings.memory_bytes
        return BannerAction(self.tr("Load"), lambda: self._engine.load(path, memory))


def _sentence(message: str, remedy: str) -> str:
    return f"{message} {remedy}".strip()
