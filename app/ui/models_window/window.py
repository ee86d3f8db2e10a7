"""ModelsWindow: find a model, watch it arrive, use it, throw it away."""

from pathlib import Path

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFont, QPainter, QPaintEvent, QPalette, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.catalogue import catalogue, free_bytes
from app.download import Download, Freed, Hit, Installed, Offer, Trouble
from app.memory_outlook import machine_bytes
from app.ui import figures, theme
from app.ui.label import Label
from app.ui.models_window import words
from app.ui.models_window.download_section import DownloadSection
from app.ui.models_window.found_section import FoundSection
from app.ui.models_window.installed_section import InstalledSection
from app.ui.models_window.offer_section import OfferSection
from app.ui.models_window.row import SIDE
from app.ui.scroll_bar import use_thin_scroll_bar
from app.ui.search_field import SearchField
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
        self._coming: frozenset[tuple[str, str]] = frozenset()  # sources and targets
        self.search = SearchField(self.tr("Search for models"))
        self.search.setPlaceholderText(self.tr("Search Hugging Face, or paste a link"))
        self.search.setMinimumWidth(44 * SPACE)
        self.search.setMaximumWidth(82 * SPACE)
        self.disk = Label(role=Role.SECONDARY)
        self.measure = QuietButton(self, text=self.tr("Measure Speed"), font=theme.font())
        self.said = Label(role=Role.SECONDARY, wrap=True)
        self.said.setContentsMargins(SIDE, 2 * SPACE, SIDE, 2 * SPACE)
        self.said.hide()
        self.found = FoundSection(workspace.keychain, self._ask, self._say)
        self.downloading = DownloadSection(workspace, self._say)
        self.installed = InstalledSection(workspace)
        memory = figures.memory(machine_bytes())
        heading = self.tr("For this computer, with %1 of memory").replace("%1", memory)
        self.offered = OfferSection(heading)
        self._lay_out()
        self._connect()
        self._show_offers()
        self._on_downloads(workspace.downloads.downloads)

    # What others tell

    def _on_downloads(self, downloads: tuple[Download, ...]) -> None:
        self.downloading.show_downloads(downloads)
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
        self._say("" if hits else self.tr("The hub has no such model that Martlet can run."))
        self.found.show_hits(hits)

    def _on_offered(self, offer: Offer) -> None:
        self._say("")
        self.found.show_offer(offer)

    def _on_query_failed(self, question: str, trouble: Trouble) -> None:
        if trouble.help in ("token", "page"):
            self._say("")
            self.found.show_trouble(question, trouble)
        else:
            self._say(words.trouble_line(trouble), Role.WARNING)

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

    # What a person asks for

    def _ask(self, question: str) -> None:
        if question:
            self._say(self.tr("Asking the hub…"))
            hub, is_source = self._workspace.hub, "/" in question and " " not in question
            (hub.look_up if is_source else hub.search)(question)

    def _on_search_changed(self, text: str) -> None:
        if not text:
            self._workspace.hub.forget()
            self._say("")
            self.found.clear()

    def _download(self, offer: Offer) -> None:
        self._workspace.downloads.add(offer.source, offer.name, offer.variant)
        self.found.clear()

    def _say(self, text: str, role: Role = Role.SECONDARY) -> None:
        self.said.setText(text)
        self.said.set_role(role)
        self.said.setVisible(bool(text))

    def _show_installed(self) -> None:
        coming = {target for _, target in self._coming}
        self.installed.show_models([m for m in self._installed if m.path not in coming])

    def _show_offers(self) -> None:
        have = {model.source for model in self._installed if model.state == "ready"}
        have |= {source for source, _ in self._coming}
        self.offered.show_offers(o for o in self._catalogue() if o.source not in have)

    def _catalogue(self) -> tuple[Offer, ...]:
        return catalogue(self._folder, self._workspace.probe.bytes_per_s)

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
        for section in (self.found, self.offered):
            section.wanted.connect(self._download)
        self.installed.chosen.connect(self.chosen)
        self.search.returnPressed.connect(lambda: self._ask(self.search.text().strip()))
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
        line.addWidget(self.search, 1)
        line.addStretch(0)
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
