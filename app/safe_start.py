"""SafeStart: notices that the computer went down while a model was in memory, and holds back.

From the beginning of a load, a small file says so and in which run of the computer. It goes with
the engine's process. One that is found at the start and belongs to an earlier run means that the
computer crashed or lost power with the model in memory. A killed application leaves the file too,
but then the computer runs on, and its engine has ended by itself.
Threading: lives on the UI thread; the file is tiny and written twice a load.
"""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.atomic_file import write_atomically
from app.boot import REPORTS, boot_id, panicked_since
from app.engine_client import EngineClient
from app.engine_state import EngineState
from engine.records import BadRecord, from_json, to_json

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Mark:
    """What the file says."""

    boot: str
    model: str  # path
    budget_bytes: int = 0  # 0: it was not loaded yet
    expert_bytes: int = 0  # of the budget


@dataclass(frozen=True, slots=True)
class Suspicion:
    """The computer went down while this model was in memory."""

    model: str  # path
    crashed: bool  # the system itself has reported a crash
    smaller_bytes: int | None  # a budget with half the experts; None: it is not known


class SafeStart(QObject):
    """Follows the engine's state by itself until it is closed.

    Signals: see the comment of each.
    """

    # there is no suspicion any more
    settled = Signal()

    def __init__(
        self,
        engine: EngineClient,
        file: Path,
        boot: Callable[[], str] = boot_id,
        reports: Path = REPORTS,
    ) -> None:
        super().__init__()
        self._file = file
        self._boot = boot()
        self._mark: Mark | None = None  # as it is in the file
        self.suspicion = self._read(reports)
        self._erase()
        engine.state_changed.connect(self._on_engine)

    def close(self) -> None:
        """The engine has ended."""
        self._erase()

    def _read(self, reports: Path) -> Suspicion | None:
        try:
            mark = from_json(Mark, json.loads(self._file.read_text(encoding="utf-8")))
            written = self._file.stat().st_mtime
        except (OSError, ValueError, BadRecord):
            return None
        crashed = panicked_since(written, reports)
        if mark.boot == self._boot and not crashed:
            return None
        log.warning("the computer went down while a model was in memory")
        smaller = mark.budget_bytes - mark.expert_bytes // 2
        return Suspicion(mark.model, crashed, smaller if mark.budget_bytes else None)

    def _on_engine(self, state: EngineState) -> None:
        if state.model == "none":
            if state.process == "stopped":
                self._erase()
            return
        if self.suspicion is not None:
            self.suspicion = None  # a person wants it so
            self.settled.emit()
        plan = state.plan
        budget, experts = (plan.budget_bytes, plan.expert_bytes) if plan else (0, 0)
        self._write(Mark(self._boot, state.model_path, budget, experts))

    def _write(self, mark: Mark) -> None:
        known = self._mark
        if known is not None and (known.model, known.budget_bytes > 0) == (
            mark.model,
            mark.budget_bytes > 0,
        ):
            return  # how large it is now matters little
        try:
            write_atomically(self._file, json.dumps(to_json(mark)))
            self._mark = mark
        except OSError as error:
            log.warning("a loaded model could not be noted: %s", error)

    def _erase(self) -> None:
        self._mark = None
        try:
            self._file.unlink(missing_ok=True)
        except OSError as error:
            log.warning("the note of a loaded model could not be removed: %s", error)
