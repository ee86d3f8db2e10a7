"""InstalledList: the models on this machine's disks, looked at on a thread of its own.

A disk may be asleep, far away or gone, so the UI thread never waits for one. A model is opened as
the engine would open it, without its weights: that tells a broken one in milliseconds.
Threading: lives on the UI thread, and so does its signal.
"""

import threading
from pathlib import Path

from PySide6.QtCore import QFile, QObject, Signal

from app.catalogue import fits_of, machine
from app.disk_probe import DiskProbe
from app.download import Installed, InstalledState
from app.installed_models import DEMO, is_model, model_name
from app.settings_store import SettingsStore
from engine.container.installed import InstalledModel, installed_models, look_at
from engine.container.origin import read_origin

_STATES: dict[str, InstalledState] = {
    "ready": "ready",
    "incomplete": "incomplete",
    "away": "away",
}


class InstalledList(QObject):
    """Looks when it is told to.

    Signals: see the comment of each.
    """

    # tuple[Installed, ...]: what was found
    changed = Signal(object)
    _looked = Signal(object)  # from the thread

    def __init__(self, settings: SettingsStore, folder: Path, probe: DiskProbe) -> None:
        super().__init__()
        self._settings = settings
        self._folder = folder
        self._probe = probe
        self._thread: threading.Thread | None = None
        self._again = False
        self._closed = False
        self._looked.connect(self._take)

    def refresh(self) -> None:
        """Look; if that is being done already, look once more afterwards."""
        if self._closed:
            return
        if self._thread is not None:
            self._again = True
            return
        folders = (self._folder, *map(Path, self._settings.settings.model_folders))
        ask = (folders, self._probe.bytes_per_s)
        self._thread = threading.Thread(target=self._look, args=ask, name="installed")
        self._thread.start()

    def trash(self, path: str) -> bool:
        """Move a model to the Trash; whether that could be done."""
        moved = QFile.moveToTrash(path)
        self.refresh()
        return bool(moved)

    def close(self) -> None:
        """Nothing is told any more."""
        self._closed = True
        if self._thread is not None:
            self._thread.join()

    def _look(self, folders: tuple[Path, ...], read_bytes_per_s: float | None) -> None:
        """On the thread."""
        self._looked.emit(look(folders, read_bytes_per_s))

    def _take(self, found: tuple[Installed, ...]) -> None:
        if self._closed:
            return
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.changed.emit(found)
        if self._again:
            self._again = False
            self.refresh()


def look(folders: tuple[Path, ...], read_bytes_per_s: float | None = None) -> tuple[Installed, ...]:
    """The built-in model, then those in `folders`, and those whose disk is not connected."""
    demo = [_installed(look_at(DEMO), None, is_demo=True)] if is_model(DEMO) else []
    found = installed_models(folders, known=folders)
    models = [model for model in found if model.state != "checkpoint"]
    return (*demo, *(_installed(model, read_bytes_per_s) for model in models))


def _installed(
    model: InstalledModel, read_bytes_per_s: float | None, *, is_demo: bool = False
) -> Installed:
    origin = read_origin(model.path)  # only what names its source can be fetched anew
    return Installed(
        name=model_name(str(model.path)),
        path=str(model.path),
        state=_STATES.get(model.state, "broken"),
        message=model.message,
        bytes=model.disk_bytes,
        bits=model.bits,
        is_demo=is_demo,
        source=origin.source if origin else "",
        fits=fits_of(model.shape, machine(model.path, read_bytes_per_s), installed=True),
    )
