"""Workspace: the application without a screen, wired up: settings, store, engine, answers, library.

Threading: made, used and closed on the UI thread. `close()` saves what streams, ends the engine
and joins every thread.
"""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject

from app.chat_controller import ChatController
from app.chat_store import ChatStore
from app.engine_client import EngineClient
from app.library_controller import LibraryController
from app.settings_store import SettingsStore


class Workspace(QObject):
    """One data folder, opened. `engine_command` is for tests; the default runs `engine.host`."""

    settings: SettingsStore
    store: ChatStore
    engine: EngineClient
    library: LibraryController

    def __init__(self, folder: Path, engine_command: Sequence[str] | None = None) -> None:
        super().__init__()

    def new_chat(self) -> ChatController:
        """A controller for one window; release it with `ChatController.close()`."""
        raise NotImplementedError

    def close(self) -> None:
        """Save, stop, end the engine, join all threads. Quick, and safe to call twice."""
