"""HubQuery: what the hub has, and what a link leads to; one question at a time.

Asked in the download process, so that the application itself never speaks to the network.
Threading: lives on the UI thread, and so do its signals.
"""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.catalogue import offer_of
from app.disk_probe import DiskProbe
from app.download import Hit, Trouble
from app.install_process import INSTALL_COMMAND, InstallProcess
from app.install_words import trouble_of
from app.keychain import Keychain
from app.settings_store import SettingsStore
from engine.install import protocol as wire


class HubQuery(QObject):
    """A new question takes the place of the one before.

    Signals: see the comment of each.
    """

    # str, tuple[Hit, ...]: what a search found
    found = Signal(str, object)
    # Offer: what a source is
    offered = Signal(object)
    # str, Trouble: this question has no answer
    failed = Signal(str, object)

    def __init__(
        self,
        settings: SettingsStore,
        keychain: Keychain,
        folder: Path,
        probe: DiskProbe,
        command: Sequence[str] = INSTALL_COMMAND,
    ) -> None:
        """`folder`: where a model would go, for the room that it would need."""
        super().__init__()
        self._settings = settings
        self._keychain = keychain
        self._folder = folder
        self._probe = probe
        self._command = command
        self._process: InstallProcess | None = None
        self._question = ""

    def search(self, words: str) -> None:
        """Ask for models that this engine can run."""
        self._ask(words, wire.Search(words, self._keychain.token))

    def look_up(self, source: str) -> None:
        """Ask what an id, a link or a folder is."""
        self._ask(source, wire.LookUp(source, token=self._keychain.token))

    def close(self) -> None:
        """Forget the question."""
        process, self._process = self._process, None
        if process is not None:
            process.hang_up()
            process.join()
            process.deleteLater()

    def _ask(self, question: str, command: wire.Search | wire.LookUp) -> None:
        self.forget()
        self._question = question
        endpoint = self._settings.settings.endpoint
        process = InstallProcess(self._command, endpoint, command, self)
        self._process = process
        process.heard.connect(self._heard)
        process.ended.connect(self._ended)

    def forget(self) -> None:
        """Whatever is still being asked is of no interest any more."""
        process, self._process = self._process, None
        if process is not None:
            process.abandon()

    def _heard(self, event: wire.Event) -> None:
        if self.sender() is not self._process:
            return
        match event:
            case wire.Found():
                hits = tuple(Hit(m.id, m.downloads, m.gated, m.licence) for m in event.models)
                self._process = None
                self.found.emit(event.query, hits)
            case wire.Offer():
                self._process = None
                self.offered.emit(offer_of(event, self._folder, self._probe.bytes_per_s))
            case wire.Failed() | wire.Bug():
                self._process = None
                self.failed.emit(self._question, trouble_of(event))

    def _ended(self) -> None:
        sender = self.sender()
        if sender is self._process:
            self._process = None
            self.failed.emit(
                self._question, Trouble("The question was not answered.", "Try again.")
            )
        if sender is not None:
            sender.deleteLater()
