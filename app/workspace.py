"""Workspace: the application without a screen, wired up: settings, store, engine, answers, library.

Threading: made, used and closed on the UI thread. `close()` saves what streams, ends the engine
and joins every thread.
"""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QObject

from app import paths
from app.answer_queue import AnswerQueue
from app.awake import Awake
from app.chat_controller import ChatController
from app.chat_store import ChatStore
from app.conversation import QueuedAnswer
from app.disk_probe import DiskProbe
from app.download import Download
from app.downloads import DownloadController
from app.engine_client import ENGINE_COMMAND, EngineClient
from app.hub_query import HubQuery
from app.idle_unload import IdleUnload
from app.install_process import INSTALL_COMMAND
from app.installed_list import InstalledList
from app.keychain import LOCAL_SERVER, Keychain
from app.library_controller import LibraryController
from app.local_server import LocalServer, ServerStatus
from app.model_watch import ModelWatch
from app.safe_start import SafeStart
from app.settings_store import SettingsStore
from app.title_writer import TitleWriter


class Workspace(QObject):
    """One data folder, opened. Hold the folder's `InstanceLock` first."""

    def __init__(
        self,
        folder: Path,
        engine_command: Sequence[str] = ENGINE_COMMAND,
        install_command: Sequence[str] = INSTALL_COMMAND,
        keychain: Keychain | None = None,
        server_keychain: Keychain | None = None,
    ) -> None:
        super().__init__()
        self.folder = folder
        self.settings = SettingsStore(paths.settings_file(folder))
        self.store = ChatStore(folder)
        self.engine = EngineClient(engine_command, paths.snapshots_folder())
        self.model_watch = ModelWatch(self.engine)
        self.safe_start = SafeStart(self.engine, paths.loaded_file(folder))
        self.answers = AnswerQueue(self.store, self.engine, self.settings)
        self.idle_unload = IdleUnload(self.engine, self.answers, self.settings)
        self.library = LibraryController(self.store, self.answers)
        self.library.going.connect(self.engine.forget)
        self._titles = TitleWriter(self.store, self.engine, self.answers, self.settings)
        self.awake = Awake()
        self.keychain = keychain or Keychain()
        server_keychain = server_keychain or Keychain(account=LOCAL_SERVER)
        self.server = LocalServer(self.settings, self.engine, server_keychain)
        models = paths.models_folder(folder)
        self.downloads = DownloadController(
            self.store, self.settings, self.keychain, models, install_command
        )
        self.probe = DiskProbe(models, paths.disk_speeds_file(folder))
        self.hub = HubQuery(self.settings, self.keychain, models, self.probe, install_command)
        self.installed = InstalledList(self.settings, models, self.probe)
        self.downloads.installed.connect(self.installed.refresh)
        self.downloads.changed.connect(self._downloads_changed)
        self.answers.queue_changed.connect(self._queue_changed)
        self.server.changed.connect(self._server_changed)
        self.engine.model_wanted.connect(self._model_wanted)
        self._chats: list[ChatController] = []
        self._closed = False

    def new_chat(self) -> ChatController:
        """A controller for one window; release it with `ChatController.close()`."""
        chat = ChatController(self.store, self.engine, self.answers, self.settings)
        self._chats.append(chat)
        chat.closed.connect(self._forget)
        return chat

    def close(self) -> None:
        """Save, end the engine, join all threads. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        for chat in tuple(self._chats):
            chat.close()
        self.probe.close()
        self.hub.close()
        self.downloads.close()
        self.installed.close()
        self.answers.close()
        self._titles.close()
        self.idle_unload.close()
        self.model_watch.close()
        self.engine.close()
        self.safe_start.close()
        self.store.close()
        self.awake.release()
        # While its owner lives: a connection of it may hold the last reference to the owner, which
        # would then be destroyed within the destructor of what it owns.
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)

    def _queue_changed(self, answers: tuple[QueuedAnswer, ...]) -> None:
        self.awake.set("answers", bool(answers))

    def _server_changed(self, status: ServerStatus) -> None:
        self.awake.set("programs", status.serving.answering)

    def _model_wanted(self) -> None:
        """Another program's wish is less than a person's doubt."""
        if self.safe_start.suspicion is None:
            self.server.load_model()

    def _downloads_changed(self, downloads: tuple[Download, ...]) -> None:
        self.awake.set("downloads", any(d.state == "running" for d in downloads))

    def _forget(self, chat: ChatController) -> None:
        self._chats.remove(chat)
