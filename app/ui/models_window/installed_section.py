"""InstalledSection: models on this machine's disks, and what can be done with each."""

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.conversation import Failure
from app.download import Installed
from app.installed_models import DEMO
from app.ui import sheets
from app.ui.models_window import words
from app.ui.models_window.row import Act, ModelRow
from app.ui.models_window.section import Section
from app.ui.settings.folders import reveal
from app.workspace import Workspace


class InstalledSection(Section):
    """Kept in step with what was found, and with the model in use.

    Signals: see the comment of each.
    """

    # str: answer with the model at this path
    chosen = Signal(str)

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Installed"), parent)
        self._workspace = workspace

    def show_models(self, models: list[Installed]) -> None:
        """These and no others."""
        self.show_items(models, lambda model: model.path, self._fill)

    def _fill(self, row: ModelRow, model: Installed) -> None:
        in_use = model.path == self._workspace.settings.settings.model
        row.show_title(model.name, words.variant_of(model))
        row.show_detail(*words.installed_line(model, in_use=in_use))
        row.show_away(model.state == "away")
        row.show_fit(*words.fit_lines(None if model.is_demo else model.fits))
        row.set_acts(self._acts(model, in_use))

    def _acts(self, model: Installed, in_use: bool) -> list[Act]:
        acts = []
        if model.state == "ready" and not in_use:
            acts.append(Act(self.tr("Use"), lambda: self.chosen.emit(model.path)))
        if model.source:
            acts += self._fetching(model)
        if model.state != "away":
            show = lambda: reveal(Path(model.path).parent)  # noqa: E731
            acts.append(Act(self.tr("Show in Folder"), show, in_menu=True))
            if not model.is_demo:
                trash = lambda: self._trash(model)  # noqa: E731
                acts.append(Act(self.tr("Move to Trash"), trash, in_menu=True))
        return acts

    def _fetching(self, model: Installed) -> list[Act]:
        """What can be done with one that can be fetched anew."""
        downloads = self._workspace.downloads
        named = (model.path, model.source, model.name)
        if model.state == "incomplete":
            return [Act(self.tr("Go On"), lambda: downloads.go_on(*named))]
        if model.state in ("ready", "broken"):
            in_menu = model.state == "ready"
            return [Act(self.tr("Repair"), lambda: downloads.repair(*named), in_menu)]
        return []

    def _trash(self, model: Installed) -> None:
        engine = self._workspace.engine
        if engine.state.model_path == model.path:
            engine.unload()
        if not self._workspace.installed.trash(model.path):
            said = self.tr("“%1” could not be moved to the Trash.").replace("%1", model.name)
            remedy = self.tr("Its disk may have none: delete it in its folder.")
            sheets.tell(self, Failure("TrashFailed", said, remedy))
        elif self._workspace.settings.settings.model == model.path:
            self._workspace.settings.update(model=str(DEMO))
