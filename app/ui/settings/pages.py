"""Which pages the Settings window has, in their order."""

from pathlib import Path

from PySide6.QtCore import QSettings

from app import paths
from app.ui.settings.answering import AnsweringPage
from app.ui.settings.folders import FoldersPage
from app.ui.settings.general import GeneralPage
from app.ui.settings.memory import MemoryPage
from app.ui.settings.privacy import PrivacyPage
from app.ui.settings.server import ServerPage
from app.ui.settings.window import SettingsWindow
from app.workspace import Workspace


def settings_window(workspace: Workspace, data: Path, state: QSettings) -> SettingsWindow:
    """The Settings window of a workspace whose data folder is `data`; `state` keeps its place."""
    store = workspace.settings
    pages = (
        GeneralPage(store),
        MemoryPage(store, workspace.engine, paths.models_folder(data)),
        AnsweringPage(store),
        ServerPage(store, workspace.engine, workspace.server),
        PrivacyPage(),
        FoldersPage(store, data, paths.log_folder()),
    )
    return SettingsWindow(pages, state)
