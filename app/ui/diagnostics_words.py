"""What the Diagnostics window says: facts about this computer and the engine, in sections."""

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6 import __version__ as qt_version
from PySide6.QtCore import QCoreApplication

from app import __version__
from app.engine_state import EngineState, EngineStats, KernelReport, MemoryPlan
from app.memory_outlook import machine_bytes
from app.settings import Settings
from app.ui import engine_words, figures

translate = QCoreApplication.translate

Row = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, and names with their values."""

    title: str
    rows: tuple[Row, ...]


def sections(state: EngineState, settings: Settings) -> tuple[Section, ...]:
    """Everything, as it is now."""
    return (
        Section(translate("diagnostics", "Martlet"), tuple(_versions())),
        Section(translate("diagnostics", "Computer"), tuple(_computer(state.stats))),
        Section(translate("diagnostics", "Engine"), tuple(_engine(state))),
        Section(translate("diagnostics", "Computing"), tuple(_computing(state.kernels, settings))),
    )


def as_text(found: Sequence[Section]) -> str:
    """The same to be copied."""
    parts = []
    for section in found:
        width = max(len(name) for name, _ in section.rows)
        lines = [f"  {name.ljust(width)}  {value}" for name, value in section.rows]
        parts.append("\n".join([section.title, *lines]))
    return "\n\n".join(parts) + "\n"


def _versions() -> Iterator[Row]:
    yield translate("diagnostics", "Version"), __version__
    yield "Python", platform.python_version()
    yield "Qt", qt_version


def _computer(stats: EngineStats | None) -> Iterator[Row]:
    yield translate("diagnostics", "System"), f"{platform.platform()}, {platform.machine()}"
    yield translate("diagnostics", "Memory"), figures.memory(machine_bytes())
    if stats is None:
        return  # the engine process looks, once a model is loaded
    heat = {
        "nominal": translate("diagnostics", "normal"),
        "fair": translate("diagnostics", "warm"),
        "serious": translate("diagnostics", "hot"),
        "critical": translate("diagnostics", "too hot"),
    }
    pressure = {
        "normal": translate("diagnostics", "normal"),
        "warning": translate("diagnostics", "high"),
        "critical": translate("diagnostics", "critical"),
    }
    saving = (
        translate("diagnostics", "being saved")
        if stats.low_power
        else translate("diagnostics", "normal")
    )
    yield translate("diagnostics", "Memory pressure"), pressure[stats.pressure]
    yield translate("diagnostics", "Heat"), heat[stats.thermal]
    yield translate("diagnostics", "Power"), saving


def _engine(state: EngineState) -> Iterator[Row]:
    process = engine_words.condition(state).text
    if state.pid is not None:
        process += f" ({state.pid})"
    yield translate("diagnostics", "State"), process
    if state.facts is None:
        return
    facts = state.facts
    yield translate("diagnostics", "Model"), f"{facts.name} ({facts.family})"
    layers = translate("diagnostics", "%1 layers, %2 experts each, %3 for a token")
    for mark, count in (
        ("%1", facts.layer_count),
        ("%2", facts.expert_count),
        ("%3", facts.experts_per_token),
    ):
        layers = layers.replace(mark, figures.count(count))
    yield translate("diagnostics", "Shape"), layers
    if state.plan is not None:
        yield from _plan(state.plan, state.stats)


def _plan(plan: MemoryPlan, stats: EngineStats | None) -> Iterator[Row]:
    if stats is not None:
        used = figures.memory_of(stats.memory_bytes, plan.budget_bytes)
        yield translate("diagnostics", "Memory of the plan"), used
    pool = translate("diagnostics", "%1, %2 experts a layer")
    pool = pool.replace("%1", figures.memory(plan.expert_bytes))
    yield (
        translate("diagnostics", "Expert pool"),
        pool.replace("%2", figures.count(plan.slots_per_layer)),
    )


def _computing(report: KernelReport | None, settings: Settings) -> Iterator[Row]:
    switch = (
        translate("diagnostics", "on") if settings.own_kernels else translate("diagnostics", "off")
    )
    yield translate("diagnostics", "Own kernels"), switch
    yield translate("diagnostics", "In use"), engine_words.kernels(report)
    for shader in report.shaders if report else ():
        used = translate("diagnostics", "used; it agrees with MLX's own operations")
        off = translate("diagnostics", "not used: %1").replace("%1", shader.reason)
        yield shader.group, used if shader.on else off
