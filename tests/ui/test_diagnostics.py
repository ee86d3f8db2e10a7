"""Diagnostics tell the truth about what computes, follow the engine, and can be copied."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from app.engine_state import EngineState, KernelReport, ShaderReport
from app.ui.diagnostics import DiagnosticsWindow
from tests.ui.fakes import FakeEngine, FakeSettings, loaded_state


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def settings() -> FakeSettings:
    return FakeSettings()


@pytest.fixture
def window(qtbot: QtBot, engine: FakeEngine, settings: FakeSettings) -> DiagnosticsWindow:
    made = DiagnosticsWindow(engine, settings)  # type: ignore[arg-type]
    qtbot.addWidget(made)
    return made


def values(window: DiagnosticsWindow) -> dict[str, str]:
    return {name: value for section in window._shown for name, value in section.rows}


def become(engine: FakeEngine, state: EngineState) -> None:
    engine.state = state
    engine.state_changed.emit(state)


def test_without_a_model_nothing_is_claimed(window: DiagnosticsWindow) -> None:
    found = values(window)
    assert found["In use"] == "What computes is known once a model is loaded."
    assert found["State"] == "No model in memory"
    assert "Heat" not in found


def test_a_cpu_is_told_as_one(window: DiagnosticsWindow, engine: FakeEngine) -> None:
    become(engine, loaded_state(kernels=KernelReport("native", "cpu", "float32")))
    assert values(window)["In use"] == ("Computed by Martlet's native core, on the CPU (float32).")
    become(engine, loaded_state(kernels=KernelReport("plain", "cpu", "float32")))
    assert values(window)["In use"] == ("Computed by MLX's own operations, on the CPU (float32).")


def test_a_shader_that_failed_its_proof_says_why(
    window: DiagnosticsWindow, engine: FakeEngine
) -> None:
    shaders = (ShaderReport("moe", True), ShaderReport("router", False, "It differs by 0.3."))
    become(engine, loaded_state(kernels=KernelReport("metal", "gpu", "bfloat16", shaders)))
    found = values(window)
    assert found["moe"] == "used; it agrees with MLX's own operations"
    assert found["router"] == "not used: It differs by 0.3."


def test_it_follows_what_changes(
    window: DiagnosticsWindow, engine: FakeEngine, settings: FakeSettings
) -> None:
    become(engine, loaded_state())
    found = values(window)
    assert found["Memory of the plan"] == "2.6 of 3.0 GB"
    assert found["Expert pool"] == "900 MB, 70 experts a layer"
    assert found["Own kernels"] == "on"
    settings.update(own_kernels=False)
    assert values(window)["Own kernels"] == "off"
    become(engine, EngineState())
    assert "Expert pool" not in values(window)


def test_long_reasons_are_whole_in_a_narrow_window(
    qtbot: QtBot, window: DiagnosticsWindow, engine: FakeEngine
) -> None:
    shaders = (ShaderReport("router", False, "It differs from the formula. " * 12),)
    window.resize(400, 300)
    window.show()
    become(engine, loaded_state(kernels=KernelReport("metal", "gpu", "bfloat16", shaders)))
    label = next(label for label in window._values if label.text().startswith("not used"))
    qtbot.waitUntil(lambda: label.height() >= label.heightForWidth(label.width()))


def test_all_of_it_can_be_copied(
    qtbot: QtBot, window: DiagnosticsWindow, engine: FakeEngine
) -> None:
    become(engine, loaded_state())
    copy = next(b for b in window.findChildren(QPushButton) if b.text() == "Copy")
    qtbot.mouseClick(copy, Qt.MouseButton.LeftButton)
    text = QApplication.clipboard().text()
    assert text == window.text
    assert "Expert pool" in text
    assert "Computed by Martlet's own GPU kernels (bfloat16)." in text
