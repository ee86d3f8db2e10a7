"""Workspace: the application without a screen, wired up: settings, store, engine, answers, library.

Threading: made, used and closed on the UI thread. `close()` saves what streams, ends the engine
and joins every thread.
"""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject

from app import paths
from app.answer_queue import AnswerQueue
from app.awake import Awake
from app.chat_controller import ChatController
from app.chat_store import ChatStore
from app.conversation import QueuedAnswer
from app.engine_client import ENGINE_COMMAND, EngineClient
from app.library_controller import LibraryController
from app.settings_store import SettingsStore
from app.title_writer import TitleWriter


class Workspace(QObject):
    """One data folder, opened. Hold the folder's `InstanceLock` first."""

    def __init__(self, folder: Path, engine_command: Sequence[str] = ENGINE_COMMAND) -> None:
        super().__init__()
        self.folder = folder
        self.settings = SettingsStore(paths.settings_file(folder))
        self.store = ChatStore(folder)
        self.engine = EngineClient(engine_command)
        self.answers = AnswerQueue(self.store, self.engine, self.settings)
        self.library = LibraryController(self.store, self.answers)
        self._titles = TitleWriter(self.store, self.engine, self.answers, self.settings)
        self.awake = Awake()
        self.answers.queue_changed.connect(self._queue_changed)
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
        self.answers.close()
        self._titles.close()
        self.engine.close()
        self.store.close()
        self.awake.release()

    def _queue_changed(self, answers: tuple[QueuedAnswer, ...]) -> None:
        self.awake.set("answers", bool(answers))

    def _forget(self, chat: ChatController) -> None:
        self._chats.remove(chat)
