"""What the engine does, in a few true words and one light: for the toolbar and the status bar."""

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from app.conversation import Activity
from app.engine_state import EngineState
from app.ui import figures
from app.ui.theme import Role

translate = QCoreApplication.translate


@dataclass(frozen=True, slots=True)
class Condition:
    """Words, and the colour of the light beside them."""

    text: str
    light: Role


def condition(state: EngineState, activity: Activity | None = None) -> Condition:
    """The engine's condition; `activity` is that of the answer being made, if there is one."""
    if state.model == "loading":
        return Condition(
            translate("engine", "Loading %1").replace("%1", figures.share(state.load_fraction)),
            Role.ACCENT,
        )
    if state.model == "none":
        return _without_model(state)
    if state.answering is None:
        return Condition(translate("engine", "Ready"), Role.READY)
    return Condition(_answering(activity), Role.READY)


def condition_of(model_path: str, state: EngineState) -> Condition:
    """The condition of one model: the engine's, if that is the model it has or loads."""
    if model_path and state.model != "none" and state.model_path != model_path:
        return Condition(translate("engine", "Loads at the first message"), Role.TERTIARY)
    return condition(state)


def _without_model(state: EngineState) -> Condition:
    if state.death is not None and state.process == "stopped":
        return Condition(translate("engine", "Engine stopped"), Role.ERROR)
    if state.load_failure is not None:
        return Condition(translate("engine", "The model could not be loaded"), Role.WARNING)
    words = {
        "stopped": translate("engine", "No model in memory"),
        "starting": translate("engine", "Starting the engine"),
        "running": translate("engine", "No model in memory"),
        "ending": translate("engine", "Giving memory back"),
    }
    return Condition(words[state.process], Role.TERTIARY)


def _answering(activity: Activity | None) -> str:
    if activity is None:
        return translate("engine", "Answering")
    if activity.phase == "reading" and activity.prompt_total:
        done = figures.share(activity.prompt_done / activity.prompt_total)
        return translate("engine", "Reading prompt %1").replace("%1", done)
    words = {
        "reading": translate("engine", "Reading prompt"),
        "thinking": translate("engine", "Thinking"),
        "stopping": translate("engine", "Stopping"),
    }
    return words.get(activity.phase, translate("engine", "Answering"))


def pressure(state: EngineState) -> Condition:
    """The system's memory pressure, as last reported."""
    conditions = {
        "normal": Condition(translate("engine", "Memory pressure: normal"), Role.SECONDARY),
        "warning": Condition(translate("engine", "Memory pressure: high"), Role.WARNING),
        "critical": Condition(translate("engine", "Memory pressure: critical"), Role.ERROR),
    }
    return conditions[state.pressure]
