"""What the engine does, in a few true words and one light: for the toolbar and the status bar."""

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from app.conversation import Activity
from app.engine_state import EngineState, KernelReport, pause_of
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
    if state.answering is None and not state.serving.answering:
        return Condition(translate("engine", "Ready"), Role.READY)
    pause, _ = pause_of(state)
    if pause == "memory":
        return Condition(translate("engine", "Waiting for memory"), Role.WARNING)
    if pause == "heat":
        return Condition(translate("engine", "Waiting to cool"), Role.WARNING)
    if state.serving.answering:
        return Condition(_serving(state), Role.READY)
    return Condition(_answering(activity), Role.READY)


def _serving(state: EngineState) -> str:
    """One answer at a time: the person's own question may wait for a program's."""
    if state.answering is not None:
        return translate("engine", "Waiting: another program is being answered")
    return translate("engine", "Answering another program")


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


def kernels(report: KernelReport | None) -> str:
    """What computes the loaded model, in one sentence."""
    if report is None:
        return translate("engine", "What computes is known once a model is loaded.")
    kinds = {
        "metal": translate("engine", "Computed by Martlet's own GPU kernels (%1)."),
        "native": translate("engine", "Computed by Martlet's native core, on the CPU (%1)."),
        "plain": translate("engine", "Computed by MLX's own operations, on the CPU (%1).")
        if report.device == "cpu"
        else translate("engine", "Computed by MLX's own operations, on the GPU (%1)."),
    }
    return kinds[report.kind].replace("%1", report.activations)


def kernels_off(report: KernelReport | None) -> str:
    """Which of our kernels a proof has switched off, in one sentence; "" for none."""
    off = ", ".join(shader.group for shader in report.shaders if not shader.on) if report else ""
    words = translate("engine", "Switched off: %1. Diagnostics, in the Help menu, says why.")
    return words.replace("%1", off) if off else ""


@dataclass(frozen=True, slots=True)
class Badge:
    """A word of warning beside the figures, with its reason; empty for none."""

    text: str = ""
    reason: str = ""
    role: Role = Role.WARNING


def condition_badge(state: EngineState) -> Badge:
    """The machine's own limits on speed, where it tells of any."""
    stats = state.stats
    if stats is None:
        return Badge()
    if stats.thermal in ("serious", "critical"):
        is_critical = stats.thermal == "critical"
        text = translate("engine", "Too hot") if is_critical else translate("engine", "Hot")
        return Badge(text, _heat(is_critical=is_critical))
    if stats.low_power:
        reason = translate("engine", "The system saves power, so answers are slower.")
        return Badge(translate("engine", "Low power"), reason, Role.SECONDARY)
    return Badge()


def _heat(*, is_critical: bool) -> str:
    if is_critical:
        return translate(
            "engine",
            "The machine is too hot to go on. Answers wait, and go on by themselves when it has"
            " cooled.",
        )
    return translate(
        "engine",
        "The machine is hot and slows itself down. Prompts are read in smaller steps until it has"
        " cooled; the answers are the same.",
    )
