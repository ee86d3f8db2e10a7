"""ModelsWindow: find a model, watch it arrive, use it, throw it away."""

from pathlib import Path

from PySide6.QtCore import QEvent, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QFont, QPainter, QPaintEvent, QPalette, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.catalogue import catalogue, free_bytes
from app.conversation import Failure
from app.download import Download, Freed, Hit, Installed, Offer, Trouble
from app.installed_models import DEMO
from app.memory_outlook import machine_bytes
from app.ui import figures, sheets, theme
from app.ui.label import Label
from app.ui.models_window import words
from app.ui.models_window.row import SIDE, Act, ModelRow
from app.ui.models_window.section import Section
from app.ui.models_window.token_sheet import TokenSheet
from app.ui.scroll_bar import use_thin_scroll_bar
from app.ui.search_field import SearchField
from app.ui.settings.folders import reveal
from app.ui.theme import SPACE, Role, color
from app.ui.transcript.quiet_button import QuietButton
from app.workspace import Workspace

FIRST_SIZE = (940, 640)
LEAST_WIDTH = 150 * SPACE


class ModelsWindow(QWidget):
    """Made once and then shown again.

    Signals: see the comment of each.
    """

    # str: answer with the model at this path
    chosen = Signal(str)

    def __init__(self, workspace: Workspace, folder: Path, parent: QWidget | None = None) -> None:
        """`folder`: where new models go."""
        super().__init__(parent, Qt.WindowType.Window)
        self._workspace = workspace
        self._folder = folder
        self._installed: tuple[Installed, ...] = ()
        self._hits: tuple[Hit, ...] = ()
        self._offer: Offer | None = None
        self._coming: frozenset[tuple[str, str]] = frozenset()  # sources and targets
        self.search = SearchField(self.tr("Search for models"))
        self.search.setPlaceholderText(self.tr("Search Hugging Face, or paste a link"))
        self.search.setFixedWidth(82 * SPACE)
        self.disk = Label(role=Role.SECONDARY)
        self.measure = QuietButton(self, text=self.tr("Measure Speed"), font=theme.font())
        self.said = Label(role=Role.SECONDARY, wrap=True)
        self.said.setContentsMargins(SIDE, 2 * SPACE, SIDE, 2 * SPACE)
        self.said.hide()
        self.found = Section(self.tr("Found"))
        self.downloading = Section(self.tr("Downloading"))
        self.installed = Section(self.tr("Installed"))
        memory = figures.memory(machine_bytes())
        heading = self.tr("For this computer, with %1 of memory").replace("%1", memory)
        self.offered = Section(heading)
        self._lay_out()
        self._connect()
        self._show_offers()
        self._on_downloads(workspace.downloads.downloads)

    # What others tell

    def _on_downloads(self, downloads: tuple[Download, ...]) -> None:
        self.downloading.show_items(downloads, lambda d: d.id, self._fill_download)
        coming = frozenset((d.source, d.target) for d in downloads)
        if coming != self._coming:  # not with every byte
            self._coming = coming
            self._show_installed()
            self._show_offers()

    def _on_installed(self, models: tuple[Installed, ...]) -> None:
        self._installed = models
        self._show_installed()
        self._show_offers()

    def _on_cancelled(self, freed: Freed) -> None:
        said = self.tr("“%1” was cancelled: %2 came back.").replace("%1", freed.name)
        self._say(said.replace("%2", figures.memory(freed.bytes)))

    def _on_found(self, _query: str, hits: tuple[Hit, ...]) -> None:
        self._hits, self._offer = hits, None
        self._say("" if hits else self.tr("The hub has no such model that Martlet can run."))
        self._show_found()

    def _on_offered(self, offer: Offer) -> None:
        self._hits, self._offer = (), offer
        self._say("")
        self._show_found()

    def _on_query_failed(self, _question: str, trouble: Trouble) -> None:
        self._say(f"{trouble.message} {trouble.remedy}".strip(), Role.WARNING)

    def _on_probe(self) -> None:
        self._show_disk()
        if not self._workspace.probe.is_measuring:
            self._show_offers()
            self._workspace.installed.refresh()

    def _show_disk(self) -> None:
        probe, free = self._workspace.probe, figures.memory(free_bytes(self._folder))
        parts = [self.tr("%1 free on the disk").replace("%1", free)]
        if probe.is_measuring:
            parts.append(self.tr("measuring…"))
        elif probe.bytes_per_s is not None:
            rate = figures.disk_rate(probe.bytes_per_s)
            parts.append(self.tr("reads %1").replace("%1", rate))
        self.disk.setText(words.DOT.join(parts))
        self.measure.setVisible(not probe.is_measuring and probe.bytes_per_s is None)

    # Searching

    def _ask_hub(self) -> None:
        text = self.search.text().strip()
        if not text:
            return
        self._say(self.tr("Asking the hub…"))
        is_source = "/" in text and " " not in text
        (self._workspace.hub.look_up if is_source else self._workspace.hub.search)(text)

    def _on_search_changed(self, text: str) -> None:
        if not text:
            self._workspace.hub.forget()
            self._hits, self._offer = (), None
            self._say("")
            self._show_found()

    def _say(self, text: str, role: Role = Role.SECONDARY) -> None:
        self.said.setText(text)
        self.said.set_role(role)
        self.said.setVisible(bool(text))

    # Rows

    def _show_found(self) -> None:
        if self._offer is not None:
            self.found.show_items((self._offer,), lambda o: o.source, self._fill_offer)
        else:
            self.found.show_items(self._hits, lambda hit: hit.source, self._fill_hit)

    def _show_installed(self) -> None:
        coming = {target for _, target in self._coming}
        models = [model for model in self._installed if model.path not in coming]
        self.installed.show_items(models, lambda model: model.path, self._fill_installed)

    def _show_offers(self) -> None:
        have = {model.source for model in self._installed if model.state == "ready"}
        have |= {source for source, _ in self._coming}
        offers = [offer for offer in self._catalogue() if offer.source not in have]
        self.offered.show_items(offers, lambda offer: offer.source, self._fill_offer)

    def _catalogue(self) -> tuple[Offer, ...]:
        return catalogue(self._folder, self._workspace.probe.bytes_per_s)

    def _fill_download(self, row: ModelRow, download: Download) -> None:
        row.show_title(download.name, download.variant)
        text, role = words.download_line(download)
        row.show_detail(text, role)
        progress = download.progress
        share = progress.done / progress.total if progress.total else 0.0
        row.show_progress(share, Role.WARNING if role == Role.WARNING else Role.ACCENT)
        row.set_acts(self._download_acts(download))

    def _download_acts(self, download: Download) -> list[Act]:
        downloads, id = self._workspace.downloads, download.id
        acts = []
        if download.state in ("running", "queued"):
            acts.append(Act(self.tr("Pause"), lambda: downloads.pause(id)))
        elif download.state == "paused":
            acts.append(Act(self.tr("Resume"), lambda: downloads.resume(id)))
        elif download.state == "failed":
            acts += self._helping_acts(download)
        if download.state != "cancelling":
            acts.append(Act(self.tr("Cancel"), lambda: self._cancel(download)))
        if download.progress.done:
            acts.append(Act(self.tr("Show in Folder"), lambda: _reveal(download.target), True))
        return acts

    def _helping_acts(self, download: Download) -> list[Act]:
        downloads, id, trouble = self._workspace.downloads, download.id, download.trouble
        retry = Act(self.tr("Try Again"), lambda: downloads.resume(id))
        if trouble is None:
            return [retry]
        if trouble.help == "token":
            return [Act(self.tr("Enter Token…"), lambda: self._ask_token(id)), retry]
        if trouble.help == "page":
            page = trouble.page
            return [Act(self.tr("Open Page…"), lambda: _browse(page)), retry]
        if trouble.help == "anyway":
            anyway = self.tr("Download Anyway")
            return [retry, Act(anyway, lambda: downloads.resume(id, anyway=True), True)]
        return [retry]

    def _fill_offer(self, row: ModelRow, offer: Offer) -> None:
        row.show_title(offer.name, offer.variant)
        row.show_detail(words.offer_line(offer))
        row.show_fit(*words.fit_lines(offer.fits))
        is_small = offer.fits.verdict == "memory"
        verb = self.tr("Download Anyway") if is_small else self.tr("Download")
        row.set_acts([Act(verb, lambda: self._download(offer))])

    def _fill_hit(self, row: ModelRow, hit: Hit) -> None:
        row.show_title(hit.source, "")
        row.show_detail(words.hit_line(hit))
        row.set_acts([Act(self.tr("Details"), lambda: self._look_up(hit.source))])

    def _fill_installed(self, row: ModelRow, model: Installed) -> None:
        in_use = model.path == self._workspace.settings.settings.model
        row.show_title(model.name, words.variant_of(model))
        row.show_detail(*words.installed_line(model, in_use=in_use))
        row.show_away(model.state == "away")
        row.show_fit(*words.fit_lines(None if model.is_demo else model.fits))
        row.set_acts(self._installed_acts(model, in_use))

    def _installed_acts(self, model: Installed, in_use: bool) -> list[Act]:
        downloads, path = self._workspace.downloads, model.path
        acts = []
        if model.state == "ready" and not in_use:
            acts.append(Act(self.tr("Use"), lambda: self.chosen.emit(path)))
        if model.source and model.state == "incomplete":
            go_on = lambda: downloads.add(model.source, model.name)  # noqa: E731
            acts.append(Act(self.tr("Go On"), go_on))
        if model.source and model.state in ("ready", "broken"):
            repair = lambda: downloads.repair(path, model.source, model.name)  # noqa: E731
            acts.append(Act(self.tr("Repair"), repair, model.state == "ready"))
        if model.state != "away":
            acts.append(Act(self.tr("Show in Folder"), lambda: _reveal(path), True))
            if not model.is_demo:
                acts.append(Act(self.tr("Move to Trash"), lambda: self._trash(model), True))
        return acts

    # What a person does

    def _download(self, offer: Offer) -> None:
        self._workspace.downloads.add(offer.source, offer.name, offer.variant)
        self._offer = None
        self._show_found()

    def _look_up(self, source: str) -> None:
        self._say(self.tr("Asking the hub…"))
        self._workspace.hub.look_up(source)

    def _cancel(self, download: Download) -> None:
        if not download.repair:
            self._workspace.downloads.cancel(download.id)
            return
        question = self.tr("Delete “%1”?").replace("%1", download.name)
        detail = self.tr("Its repair has begun; without it the model cannot be used.")
        cancel = lambda: self._workspace.downloads.cancel(download.id)  # noqa: E731
        sheets.ask(self, question, detail, self.tr("Delete"), cancel)

    def _ask_token(self, download_id: str) -> None:
        TokenSheet(lambda token: self._take_token(token, download_id), self).open()

    def _take_token(self, token: str, download_id: str) -> None:
        if not self._workspace.keychain.save(token):
            self._say(self.tr("There is no keychain here: the token is kept until you quit."))
        self._workspace.downloads.resume(download_id)

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

    # Building

    def _connect(self) -> None:
        downloads, hub = self._workspace.downloads, self._workspace.hub
        downloads.changed.connect(self._on_downloads)
        downloads.cancelled.connect(self._on_cancelled)
        self._workspace.installed.changed.connect(self._on_installed)
        self._workspace.settings.changed.connect(lambda _: self._show_installed())
        self._workspace.probe.changed.connect(self._on_probe)
        self.measure.clicked.connect(self._workspace.probe.measure)
        hub.found.connect(self._on_found)
        hub.offered.connect(self._on_offered)
        hub.failed.connect(self._on_query_failed)
        self.search.returnPressed.connect(self._ask_hub)
        self.search.textChanged.connect(self._on_search_changed)

    def _lay_out(self) -> None:
        self.setWindowTitle(self.tr("Models"))
        self.resize(*FIRST_SIZE)
        self.setMinimumWidth(LEAST_WIDTH)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._header())
        column.addWidget(self.said)
        column.addWidget(self._list(), 1)
        self._paint_ground()

    def _header(self) -> QWidget:
        header = Header()
        line = QHBoxLayout(header)
        line.setContentsMargins(SIDE, 2 * SPACE, SIDE, 2 * SPACE)
        line.setSpacing(6 * SPACE)
        line.addWidget(Label(self.tr("Models"), weight=QFont.Weight.DemiBold))
        line.addWidget(self.search)
        line.addStretch(1)
        line.addWidget(self.disk)
        line.addWidget(self.measure)
        return header

    def _list(self) -> QScrollArea:
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 4 * SPACE)
        column.setSpacing(0)
        for section in (self.found, self.downloading, self.installed, self.offered):
            column.addWidget(section)
        column.addStretch(1)
        area = QScrollArea()
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(content)
        use_thin_scroll_bar(area)
        return area

    def _paint_ground(self) -> None:
        palette = self.palette()
        if palette.color(QPalette.ColorRole.Window) != color(Role.BASE):
            palette.setColor(QPalette.ColorRole.Window, color(Role.BASE))
            self.setPalette(palette)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show_disk()
        self._workspace.installed.refresh()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._paint_ground()
        elif event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            self._workspace.installed.refresh()  # a disk may have come back


class Header(QWidget):
    """Lies above the list, with a hairline between."""

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(0, self.height() - 1, self.width(), 1, color(Role.LINE))


def _reveal(path: str) -> None:
    reveal(Path(path).parent)


def _browse(page: str) -> None:
    if page.startswith("https://"):
        QDesktopServices.openUrl(QUrl(page))
