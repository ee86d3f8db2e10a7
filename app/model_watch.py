"""ModelWatch: a model that could not be loaded because files of it were away is there again.

Watches the folders of the model that exist, or the nearest above them, as the system tells of
changes: nothing is polled, and a sleeping disk is not woken. Threading: lives on the UI thread,
and so does its signal.
"""

from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from app.engine_client import EngineClient
from app.engine_state import EngineState
from engine.container.installed import look_at

SETTLE_MS = 500  # after a change, for what changes together


class ModelWatch(QObject):
    """Follows the engine's state by itself.

    Signals: see the comment of each.
    """

    # str: path of the model that is there again
    returned = Signal(str)

    def __init__(self, engine: EngineClient) -> None:
        super().__init__()
        self._engine = engine
        self._awaited: Path | None = None  # a model that is away, or not whole
        self._watcher = QFileSystemWatcher(self)
        self._settle = QTimer(self, interval=SETTLE_MS, singleShot=True)
        self._settle.timeout.connect(self._look)
        self._watcher.directoryChanged.connect(self._settle.start)
        engine.state_changed.connect(self._on_engine)

    def close(self) -> None:
        """Watch nothing any more."""
        self._await(None)

    def _on_engine(self, state: EngineState) -> None:
        path = Path(state.load_failure_path) if state.load_failure_path else None
        if path is None:
            self._await(None)
        elif path != self._awaited and not _is_whole(path):
            self._await(path)

    def _await(self, path: Path | None) -> None:
        self._settle.stop()
        self._awaited = path
        self._follow()

    def _follow(self) -> None:
        if watched := self._watcher.directories():
            self._watcher.removePaths(watched)
        if self._awaited is not None:
            self._watcher.addPaths([str(folder) for folder in _folders(self._awaited)])

    def _look(self) -> None:
        """A folder of the model, or on the way to it, has changed."""
        path = self._awaited
        self._follow()  # first: what changes from here on is told anew
        if path is None or not _is_whole(path):
            return
        self._engine.forget_load_failure()
        self.returned.emit(str(path))


def _is_whole(path: Path) -> bool:
    return look_at(path).state == "ready"


def _folders(path: Path) -> list[Path]:
    """The model's own folders, or the nearest above them that exists."""
    if path.is_dir():
        return [path, *(child for child in path.iterdir() if child.is_dir())]
    return [next(folder for folder in path.parents if folder.is_dir())]
