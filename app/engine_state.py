"""EngineState: what is known of the engine process. Facts as they were last reported, never plans.

Threading: frozen values. `EngineClient` makes a new one on the UI thread at every change.
"""

import signal
from dataclasses import dataclass, field, replace
from typing import Literal

from app.conversation import Failure
from app.engine_process import ProcessEnded
from engine import protocol as wire
from engine.protocol import (
    EngineStats,
    KernelReport,
    Ledger,
    MemoryPlan,
    ModelFacts,
    Planned,
    PressureLevel,
    ShaderReport,
    ThermalState,
)

__all__ = [
    "EngineDeath",
    "EngineState",
    "EngineStats",
    "KernelReport",
    "Ledger",
    "MemoryNote",
    "MemoryPlan",
    "ModelFacts",
    "ModelState",
    "Planned",
    "PressureLevel",
    "ProcessState",
    "ServingState",
    "ShaderReport",
    "StorageNote",
    "ThermalState",
]

# stopped: no process lives. starting: it lives but has not spoken. ending: asked to end, alive.
ProcessState = Literal["stopped", "starting", "running", "ending"]
ModelState = Literal["none", "loading", "loaded"]
Pause = Literal["none", "memory", "heat"]

MOST_DEATHS = 3  # in a row; then only the person restarts the engine


@dataclass(frozen=True, slots=True)
class EngineDeath:
    """The engine process ended without being asked to."""

    message: str  # what happened, for the banner
    remedy: str
    in_a_row: int  # deaths since the last finished answer
    gave_up: bool  # no restart by itself any more: only `EngineClient.restart` tries again
    log_tail: str  # last lines that the process wrote, for the report


@dataclass(frozen=True, slots=True)
class ServingState:
    """What the local server of the engine process is at."""

    url: str = ""  # where it listens; "": it does not
    failure: Failure | None = None  # why it does not, though it should
    answering: bool = False  # a program is being answered
    waiting: int = 0  # answers for programs that wait for their turn


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
    kernels: KernelReport | None = None  # what computes the loaded model
    plain: bool = False  # the model was loaded so as to use none of our own kernels
    check_reads: bool = False  # ... and to hold a sample of what is read against checksums
    answering: str | None = None  # id of the generation that runs
    stats: EngineStats | None = None  # latest figures; about one a second while a model is loaded
    pressure: PressureLevel = "normal"
    death: EngineDeath | None = None  # the latest one, until a model is loaded again
    load_failure: Failure | None = None  # why the last load did not succeed
    load_failure_path: str = ""  # of the model that it concerns
    serving: ServingState = field(default_factory=ServingState)


@dataclass(frozen=True, slots=True)
class MemoryNote:
    """The engine gave memory back or took it again: a calm line for the status bar."""

    level: PressureLevel
    message: str
    plan: MemoryPlan


@dataclass(frozen=True, slots=True)
class StorageNote:
    """The model's files can be read again, or (not `usable`) the model was unloaded."""

    usable: bool
    message: str


def after_event(state: EngineState, event: wire.Event) -> EngineState:
    """The state once `event` has been heard."""
    match event:
        case wire.Ready():
            running: ProcessState = "ending" if state.process == "ending" else "running"
            return replace(state, process=running, pid=event.pid)
        case wire.Loading():
            return replace(state, model="loading", load_fraction=event.share)
        case wire.Loaded():
            return replace(
                state,
                model="loaded",
                facts=event.model,
                plan=event.plan,
                kernels=event.kernels,
                death=None,
            )
        case wire.Unloaded():
            return _without_model(state)
        case wire.EngineStats():
            return replace(state, stats=event, pressure=event.pressure)
        case wire.MemoryChanged():
            return replace(state, plan=event.plan, pressure=event.level)
        case wire.Serving():
            return replace(state, serving=ServingState(event.url))
        case wire.NotServing():
            failure = Failure("NotServing", event.message, event.remedy) if event.message else None
            return replace(state, serving=ServingState(failure=failure))
        case wire.Served():
            told = replace(state.serving, answering=event.answering, waiting=event.waiting)
            return replace(state, serving=told)
        case wire.Failed(id=None) | wire.Bug(id=None) if state.model == "loading":
            return replace(
                _without_model(state),
                load_failure=failure_of(event),
                load_failure_path=state.model_path,
            )
    return state


def pause_of(state: EngineState) -> tuple[Pause, str]:
    """Why the answer that is being made stands still, and that in words for a person."""
    answers = state.answering is not None or state.serving.answering
    if not answers or state.stats is None or not state.stats.paused:
        return "none", ""
    return ("heat" if state.stats.thermal == "critical" else "memory"), state.stats.paused


def after_end(state: EngineState, ended: ProcessEnded, deaths: int) -> EngineState:
    """The state once the process is gone; `deaths` in a row, this one included."""
    if not ended.asked:
        return EngineState(death=death_of(ended, deaths))
    return EngineState(load_failure=state.load_failure, load_failure_path=state.load_failure_path)


def death_of(ended: ProcessEnded, deaths: int) -> EngineDeath:
    """What the banner says of a death."""
    gave_up = deaths >= MOST_DEATHS
    remedy = "What was written so far is kept."
    if gave_up:
        remedy += f" It happened {deaths} times in a row, so Martlet waits for you to restart it."
    return EngineDeath(_cause(ended), remedy, deaths, gave_up, ended.log_tail)


def failure_of(event: wire.Failed | wire.Bug) -> Failure:
    """An event of failure in words for a person."""
    if isinstance(event, wire.Failed):
        return Failure(event.kind, event.message, event.remedy)
    return Failure("Bug", "The engine met a fault of its own.", "Try again; a report is ready.")


def _cause(ended: ProcessEnded) -> str:
    if ended.code is None:
        return f"The engine could not be started: {ended.log_tail}."
    if ended.code == -signal.SIGKILL:
        return "The engine was ended by the system, most likely to free memory."
    if ended.code < 0:
        return f"The engine stopped unexpectedly ({signal.Signals(-ended.code).name})."
    return f"The engine stopped unexpectedly (exit code {ended.code})."


def _without_model(state: EngineState) -> EngineState:
    return replace(
        state,
        model="none",
        model_path="",
        load_fraction=0.0,
        facts=None,
        plan=None,
        kernels=None,
        plain=False,
        check_reads=False,
        stats=None,
    )
