"""LocalServer: whether and where other programs are answered, from the settings to the engine.

Off until a person switches it on. The key is made here and lies in the keychain; it reaches the
engine process through its input alone. A key that is asked for but cannot be had keeps the server
off: it never falls back to serving without one. Threading: lives on the UI thread.
"""

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QObject, Signal

from app.engine_client import EngineClient
from app.engine_state import EngineState, ServingState
from app.keychain import Keychain
from app.settings import Settings
from app.settings_store import SettingsStore
from engine.server.extra import missing
from engine.server.settings import is_loopback

Condition = Literal["off", "missing", "no_key", "stopped", "starting", "failed", "listening"]

_PREFIX = "sk-martlet-"  # OpenAI's clients, and scanners for lost secrets, know such keys
_KEY_BYTES = 24


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """What is true of the server now."""

    condition: Condition = "off"
    serving: ServingState = field(default_factory=ServingState)
    package: str = ""  # that is missing


class LocalServer(QObject):
    """Follows the settings, from start() on.

    Signals: see the comment of each.
    """

    # ServerStatus: after every change of it
    changed = Signal(object)

    def __init__(self, settings: SettingsStore, engine: EngineClient, keychain: Keychain) -> None:
        super().__init__()
        self._settings = settings
        self._engine = engine
        self._keychain = keychain
        self._package = missing()
        self._model = ""  # that programs are told of
        self._asked: tuple[str, int, str | None] | None = None  # what the engine was told
        self._status = ServerStatus()
        self._started = False
        settings.changed.connect(self._follow)
        engine.state_changed.connect(self._on_engine)

    @property
    def status(self) -> ServerStatus:
        """What is true of the server now."""
        return self._status

    @property
    def key(self) -> str:
        """The key; "" for none. May ask the keychain."""
        return self._keychain.token or ""

    def start(self) -> None:
        """Serve, if that is switched on."""
        self._started = True
        self._follow(self._settings.settings)

    def make_key(self) -> bool:
        """A new key, in place of the old one. False: it is kept for this session only."""
        kept = self._keychain.save(_PREFIX + secrets.token_urlsafe(_KEY_BYTES))
        self._follow(self._settings.settings)
        return kept

    def switch(self, on: bool) -> None:
        """Serve other programs, or no more."""
        self._settings.update(server_on=on)

    def ask_key(self, on: bool) -> bool:
        """Whether programs must send the key; one is made if there is none. As `make_key`."""
        kept = self.make_key() if on and not self.key else True
        self._settings.update(server_keyed=on)
        return kept

    def listen_at(self, host: str) -> bool:
        """Listen at another address; one that others can reach needs a key. As `make_key`."""
        kept = is_loopback(host) or self.ask_key(True)
        self._settings.update(server_host=host)
        return kept

    def load_model(self) -> None:
        """A program asks and there is no model: it is told to ask again, and finds it then."""
        settings, state = self._settings.settings, self._engine.state
        if settings.model and state.model == "none" and state.load_failure is None:
            self._engine.load(settings.model, settings.memory_bytes)

    def _follow(self, settings: Settings) -> None:
        """Tell the engine what is wanted, if that is something else now."""
        if settings.model != self._model:
            self._model = settings.model
            self._engine.expect(Path(settings.model).stem)
        wanted = self._wanted(settings)
        if wanted != self._asked:
            self._asked = wanted
            if wanted is None:
                self._engine.stop_serving()
            else:
                self._engine.serve(*wanted)
        self._tell()

    def _wanted(self, settings: Settings) -> tuple[str, int, str | None] | None:
        if not self._started or not settings.server_on or self._package:
            return None
        if settings.server_keyed:
            return (settings.server_host, settings.server_port, self.key) if self.key else None
        return settings.server_host, settings.server_port, None

    def _on_engine(self, _: EngineState) -> None:
        self._tell()

    def _tell(self) -> None:
        serving = self._engine.state.serving
        status = ServerStatus(self._condition(serving), serving, self._package)
        if status != self._status:
            self._status = status
            self.changed.emit(status)

    def _condition(self, serving: ServingState) -> Condition:
        if self._package:
            return "missing"
        if not self._settings.settings.server_on:
            return "off"
        if self._asked is None:
            return "no_key"
        if serving.url:
            return "listening"
        if serving.failure is not None:
            return "failed"
        return "stopped" if self._engine.gave_up else "starting"
