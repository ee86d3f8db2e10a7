"""Where the application keeps its files. `MARTLET_HOME` moves all of them below one folder.

Conversations and models are user data: never in a cache folder, which a system may empty, and
never inside the application's bundle, which an update replaces. Creates nothing.
"""

import os
from pathlib import Path

import platformdirs

HOME_VARIABLE = "MARTLET_HOME"
_NAME = "Martlet"


def data_folder() -> Path:
    """Conversations, settings, models."""
    home = _home()
    return home / "data" if home else Path(platformdirs.user_data_dir(_NAME, appauthor=False))


def log_folder() -> Path:
    """Log files."""
    home = _home()
    return home / "logs" if home else Path(platformdirs.user_log_dir(_NAME, appauthor=False))


def snapshots_folder() -> Path:
    """What the engine keeps of conversations to read less; a system may empty it."""
    home = _home()
    cache = home / "cache" if home else Path(platformdirs.user_cache_dir(_NAME, appauthor=False))
    return cache / "snapshots"


def models_folder(data: Path) -> Path:
    """The models that the application itself installs."""
    return data / "models"


def database_file(data: Path) -> Path:
    """All conversations."""
    return data / "conversations.db"


def backups_folder(data: Path) -> Path:
    """Copies of the database from before a migration, and damaged ones."""
    return data / "backups"


def settings_file(data: Path) -> Path:
    """What the person chose."""
    return data / "settings.json"


def disk_speeds_file(data: Path) -> Path:
    """How fast disks read that a person had measured."""
    return data / "disk-speeds.json"


def loaded_file(data: Path) -> Path:
    """Says that a model is in memory, while one is."""
    return data / "loaded.json"


def window_file(data: Path) -> Path:
    """Window geometry (QSettings, INI)."""
    return data / "windows.ini"


def _home() -> Path | None:
    home = os.environ.get(HOME_VARIABLE)
    return Path(home).expanduser().absolute() if home else None
