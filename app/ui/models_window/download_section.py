"""DownloadSection: models on their way, and what can be done with each."""

from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.download import Download
from app.ui import sheets
from app.ui.models_window import words
from app.ui.models_window.row import Act, ModelRow
from app.ui.models_window.section import Section
from app.ui.models_window.token_help import Say, access_acts
from app.ui.settings.folders import reveal
from app.ui.theme import Role
from app.workspace import Workspace


class DownloadSection(Section):
    """`say` shows a sentence above the lists."""

    def __init__(self, workspace: Workspace, say: Say, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Downloading"), parent)
        self._downloads = workspace.downloads
        self._keychain = workspace.keychain
        self._say = say

    def show_downloads(self, downloads: tuple[Download, ...]) -> None:
        """Keep in step with the queue."""
        self.show_items(downloads, lambda download: download.id, self._fill)

    def _fill(self, row: ModelRow, download: Download) -> None:
        row.show_title(download.name, download.variant)
        text, role = words.download_line(download)
        row.show_detail(text, role)
        progress = download.progress
        share = progress.done / progress.total if progress.total else 0.0
        row.show_progress(share, _bar_role(download, role))
        row.set_acts(self._acts(download))

    def _acts(self, download: Download) -> list[Act]:
        acts = []
        if download.state in ("running", "queued"):
            acts.append(self._pause(download))
        elif download.state == "paused":
            resume = self._downloads.resume
            acts.append(Act(self.tr("Resume"), lambda: resume(download.id)))
        elif download.state == "failed":
            acts += self._helping(download)
        if download.state != "cancelling":
            acts.append(Act(self.tr("Cancel"), lambda: self._cancel(download)))
        if download.progress.done and download.state != "cancelling":
            show = lambda: reveal(Path(download.target).parent)  # noqa: E731
            acts.append(Act(self.tr("Show in Folder"), show, in_menu=True))
        return acts

    def _helping(self, download: Download) -> list[Act]:
        again = lambda: self._downloads.resume(download.id)  # noqa: E731
        trouble = download.trouble
        if trouble is None:
            return [Act(self.tr("Try Again"), again)]
        if trouble.help in ("room", "volume"):
            return self._disk_acts(download)
        return access_acts(trouble, self, self._keychain, self._say, again)

    def _disk_acts(self, download: Download) -> list[Act]:
        """It goes on by itself when the disk allows, so that trying again is the lesser thing."""
        resume, trouble = self._downloads.resume, download.trouble
        again = Act(self.tr("Try Again"), lambda: resume(download.id), in_menu=True)
        acts = [again, self._pause(download, in_menu=True)]
        if not download.repair:
            acts.insert(0, Act(self.tr("Choose Folder…"), lambda: self._ask_folder(download)))
        if trouble is not None and trouble.help == "room":
            anyway = lambda: resume(download.id, anyway=True)  # noqa: E731
            acts.append(Act(self.tr("Download Anyway"), anyway, in_menu=True))
        return acts

    def _pause(self, download: Download, *, in_menu: bool = False) -> Act:
        return Act(self.tr("Pause"), lambda: self._downloads.pause(download.id), in_menu)

    def _ask_folder(self, download: Download) -> None:
        title = self.tr("Choose a Folder for “%1”").replace("%1", download.name)
        move = self._downloads.move
        sheets.open_folder(self, title, lambda folder: move(download.id, Path(folder)))

    def _cancel(self, download: Download) -> None:
        cancel = self._downloads.cancel
        if not (download.repair and download.progress.total):
            cancel(download.id)
            return
        question = self.tr("Delete “%1”?").replace("%1", download.name)
        detail = self.tr("Its repair has begun; without it the model cannot be used.")
        sheets.ask(self, question, detail, self.tr("Delete"), lambda: cancel(download.id))


def _bar_role(download: Download, text_role: Role) -> Role:
    """The accent is for what moves."""
    if text_role == Role.WARNING:
        return text_role
    return Role.ACCENT if download.state == "running" else Role.TERTIARY
