"""SettingsStore: the settings on disk (`settings.json`), replaced whole and atomically.

Threading: lives on the UI thread; the file is a few kilobytes and is written at once.
"""

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.settings import Settings


class SettingsStore(QObject):
    """The settings in force.

    Signals: see the comment of each.
    """

    # Settings: after every change
    changed = Signal(object)
    # Failure: the file was unreadable and set aside, or cannot be written
    failed = Signal(object)

    def __init__(self, path: Path) -> None:
        super().__init__()

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        raise NotImplementedError

    def update(self, **changes: object) -> None:
        """Change fields of `Settings` by name, keep them on disk and tell."""
