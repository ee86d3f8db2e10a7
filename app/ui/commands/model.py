"""Commands of the Model menu, and the menu of models under the toolbar's button."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu

from app.conversation import Failure
from app.installed_models import installed_models, is_model
from app.ui import sheets
from app.workspace import Workspace

if TYPE_CHECKING:
    from app.ui.main_window import MainWindow

translate = QCoreApplication.translate


class ModelCommands:
    """The model of one window's conversation, and the engine that all share."""

    def __init__(self, window: "MainWindow", workspace: Workspace, models_folder: Path) -> None:
        self._window = window
        self._workspace = workspace
        self._models_folder = models_folder

    def available(self) -> Iterator[str]:
        """Names of the commands that make sense now."""
        state = self._workspace.engine.state
        yield "open_model"
        path = self._window.model_path
        if path and (state.model == "none" or state.model_path != path):
            yield "load_model"
        if state.model != "none":
            yield "unload_model"
        if state.death is not None:
            yield "restart_engine"

    def load_model(self) -> None:
        """Bring this conversation's model into memory now, not at the first message."""
        memory = self._workspace.settings.settings.memory_bytes
        self._workspace.engine.load(self._window.model_path, memory)

    def unload_model(self) -> None:
        """Give the model's memory back."""
        self._workspace.engine.unload()

    def restart_engine(self) -> None:
        """Start the engine again after it ended by itself."""
        self._workspace.engine.restart()

    def open_model(self) -> None:
        """Use a model that lies somewhere else, and remember its folder."""
        title = translate("model", "Open a Model's Folder")
        sheets.open_folder(self._window, title, self.use_folder)

    def use_folder(self, folder: str) -> None:
        """Use the model in `folder`; say so if there is none."""
        if not is_model(Path(folder)):
            words = translate("model", "“%1” holds no model.").replace("%1", Path(folder).name)
            remedy = translate("model", "Choose a folder whose name ends in .qpack.")
            sheets.tell(self._window, Failure("ModelNotFound", words, remedy))
            return
        folders = self._workspace.settings.settings.model_folders
        if folder not in folders:
            self._workspace.settings.update(model_folders=(*folders, folder))
        self.choose(folder)

    def choose(self, path: str) -> None:
        """This conversation is answered by the model at `path` from now on, and new ones too."""
        self._window.chat.set_model(path)
        self._workspace.settings.update(model=path)

    def fill_menu(self, menu: QMenu) -> None:
        """The installed models, then what can be done with the one in use."""
        menu.clear()
        group = QActionGroup(menu)
        folders = map(Path, self._workspace.settings.settings.model_folders)
        for model in installed_models((self._models_folder, *folders)):
            action = QAction(model.name, group)
            action.setCheckable(True)
            action.setChecked(model.path == self._window.model_path)
            action.setMenuRole(QAction.MenuRole.NoRole)
            action.triggered.connect(lambda _=False, path=model.path: self.choose(path))
            menu.addAction(action)
        menu.addSeparator()
        for name in ("load_model", "unload_model", "show_models", "open_model"):
            menu.addAction(self._window.actions_by_name[name])
