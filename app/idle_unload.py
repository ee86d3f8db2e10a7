"""IdleUnload: ends an engine process that nobody has asked anything for some time.

The next question starts it again. A process without a model, which only made a plan, goes after a
minute, unless it listens to other programs; one whose model was loaded in another way than is
chosen now, as soon as it is idle. What the engine does is looked at anew whenever it changes: there
is no state of our own but a clock. Threading: lives on the UI thread.
"""

from PySide6.QtCore import QObject, QTimer

from app.answer_queue import AnswerQueue
from app.engine_client import EngineClient
from app.engine_state import EngineState
from app.settings_store import SettingsStore

SPARE_MS = 60_000
MINUTE_MS = 60_000


class IdleUnload(QObject):
    """Works by itself until it is closed."""

    def __init__(
        self,
        engine: EngineClient,
        answers: AnswerQueue,
        settings: SettingsStore,
        minute_ms: int = MINUTE_MS,
    ) -> None:
        super().__init__()
        self._engine = engine
        self._answers = answers
        self._settings = settings
        self._minute_ms = minute_ms
        self._holders: set[str] = set()
        self._closed = False
        self._clock = QTimer(self, singleShot=True)
        self._clock.timeout.connect(engine.unload)
        engine.state_changed.connect(self._look)
        engine.planned.connect(self._begin_anew)
        answers.queue_changed.connect(self._look)
        settings.changed.connect(self._on_settings)
        self._on_settings()

    def hold(self, holder: str, *, held: bool) -> None:
        """While anything holds it, the process stays."""
        if held:
            self._holders.add(holder)
        else:
            self._holders.discard(holder)
        self._look()

    def close(self) -> None:
        """Do nothing any more."""
        self._closed = True
        self._clock.stop()

    def _begin_anew(self) -> None:
        self._clock.stop()
        self._look()

    def _on_settings(self) -> None:
        chosen = self._settings.settings
        self._engine.choose(plain=not chosen.own_kernels, check_reads=chosen.check_reads)
        self._look()

    def _look(self) -> None:
        wait_ms = self._wait_ms()
        if wait_ms is None:
            self._clock.stop()
        elif wait_ms == 0:
            self._engine.unload()
        elif not self._clock.isActive() or self._clock.interval() != wait_ms:
            self._clock.start(wait_ms)

    def _wait_ms(self) -> int | None:
        """How long the process may stay idle from now on; None while it may not go."""
        state = self._engine.state
        serves = state.serving.answering or state.serving.waiting > 0
        works = serves or state.answering is not None or not self._answers.is_idle
        if self._closed or state.process != "running" or state.model == "loading" or works:
            return None
        if state.model == "loaded" and self._is_chosen_otherwise(state):
            return 0
        if self._holders:
            return None
        if state.model == "none":
            return None if state.serving.url else SPARE_MS
        return self._settings.settings.unload_after_min * self._minute_ms or None

    def _is_chosen_otherwise(self, state: EngineState) -> bool:
        """Whether the model would be loaded in another way now."""
        chosen = self._settings.settings
        return (state.plain, state.check_reads) != (not chosen.own_kernels, chosen.check_reads)
