"""SettingsStore: the settings on disk (`settings.json`), replaced whole and atomically.

Threading: lives on the UI thread; the file is a few kilobytes and is written at once. A file that
cannot be understood is set aside, never overwritten: it may hold a person's presets.
"""

import json
import logging
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.atomic_file import write_atomically
from app.conversation import Failure
from app.settings import Settings
from engine.errors import BadOption
from engine.records import BadRecord, from_json, to_json

log = logging.getLogger(__name__)


class SettingsStore(QObject):
    """The settings in force. Signals: see the comment of each."""

    # Settings: after every change
    changed = Signal(object)
    # Failure: the file could not be read at the start, or cannot be written now
    failed = Signal(object)

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self.notice: Failure | None = None  # what was wrong with the file at the start
        self._settings = self._read()
        if self.notice is not None:  # told once somebody can listen
            QTimer.singleShot(0, self, partial(self.failed.emit, self.notice))

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._settings

    def update(self, **changes: Any) -> None:
        """Change fields of `Settings` by name, keep them on disk and tell.

        Raises BadOption for sampling that makes no sense; nothing has changed then.
        """
        settings = replace(self._settings, **changes)
        settings.check()
        if settings == self._settings:
            return
        self._settings = settings
        self._write()
        self.changed.emit(settings)

    def _read(self) -> Settings:
        try:
            return parse_settings(json.loads(self._path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return Settings()
        except (OSError, ValueError, RecursionError, BadOption) as error:
            log.warning("%s cannot be understood: %s", self._path.name, error)
            self.notice = self._set_aside(error)
            return Settings()

    def _set_aside(self, error: Exception) -> Failure:
        aside = self._path.with_suffix(".unreadable.json")
        try:
            self._path.replace(aside)
        except OSError:
            log.warning("%s cannot be moved", self._path.name)
        message = f"Your settings could not be read, so the usual ones are in force ({error})."
        return Failure("BadSettings", message, f"The old file is kept as {aside.name}.")

    def _write(self) -> None:
        try:
            write_atomically(self._path, json.dumps(to_json(self._settings), indent=1))
        except OSError as error:
            message = f"Your settings could not be saved: {error}."
            remedy = "They hold until Martlet ends."
            self.failed.emit(Failure("SettingsNotSaved", message, remedy))


def parse_settings(value: object) -> Settings:
    """Settings from JSON. Keys of other versions are left out; all else is read strictly."""
    if not isinstance(value, dict):
        raise BadRecord("The file does not hold an object.")
    known = {key: item for key, item in value.items() if key in Settings.__dataclass_fields__}
    settings = from_json(Settings, known)
    settings.check()
    return settings
