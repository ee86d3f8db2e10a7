"""EngineState: what is known of the engine process. Facts as they were last reported, never plans.

Threading: frozen values. `EngineClient` makes a new one on the UI thread at every change.
"""

from dataclasses import dataclass
from typing import Literal

from app.conversation import Failure
from engine.protocol import EngineStats, MemoryPlan, ModelFacts, PressureLevel

__all__ = [
    "EngineDeath",
    "EngineState",
    "EngineStats",
    "MemoryNote",
    "MemoryPlan",
    "ModelFacts",
    "ModelState",
    "PressureLevel",
    "ProcessState",
]

# stopped: no process lives. starting: it lives but has not spoken. ending: asked to end, alive.
ProcessState = Literal["stopped", "starting", "running", "ending"]
ModelState = Literal["none", "loading", "loaded"]


@dataclass(frozen=True, slots=True)
class EngineDeath:
    """The engine process ended without being asked to."""

    message: str  # what happened, for the banner
    remedy: str
    in_a_row: int  # deaths since the last finished answer
    gave_up: bool  # no restart by itself any more: only `EngineClient.restart` tries again
    log_tail: str  # last lines that the process wrote, for the report


@dataclass(frozen=True, slots=True)
class EngineState:
    """The engine, for the status bar, the toolbar's light and the inspector."""

    process: ProcessState = "stopped"
    pid: int | None = None
    model: ModelState = "none"
    model_path: str = ""  # of the model loaded or being loaded
    load_fraction: float = 0.0  # while loading, 0 to 1
    facts: ModelFacts | None = None  # of the loaded model
    plan: MemoryPlan | None = None  # of the loaded model's memory, in force now
    answering: str | None = None  # id of the message whose answer is being generated
    stats: EngineStats | None = None  # latest figures; about one a second while answering
    pressure: PressureLevel = "normal"
    death: EngineDeath | None = None  # the latest one, until the engine runs again
    load_failure: Failure | None = None  # why the last load did not succeed


@dataclass(frozen=True, slots=True)
class MemoryNote:
    """The engine gave memory back or took it again: a calm line for the status bar."""

    level: PressureLevel
    message: str
    plan: MemoryPlan
