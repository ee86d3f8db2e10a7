"""The Settings window: changes act at once, and it shows what others change."""

from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox
from pytestqt.qtbot import QtBot

from app.engine_state import KernelReport, ShaderReport
from app.settings import Preset, Sampling
from app.ui.settings.answering import AnsweringPage
from app.ui.settings.engine_rows import EngineRows
from app.ui.settings.folders import FoldersPage
from app.ui.settings.general import GeneralPage
from app.ui.settings.memory import STEP_BYTES, MemoryPage
from app.ui.settings.page import SettingsPage
from app.ui.settings.privacy import PrivacyPage
from app.ui.settings.window import SettingsWindow
from tests.ui.fakes import GB, MODEL, FakeEngine, FakeSettings, loaded_state, planned


@pytest.fixture
def store() -> FakeSettings:
    return FakeSettings()


def pick_text(box: QComboBox, text: str) -> None:
    """As a person does: `activated` is not emitted by setting an index."""
    index = box.findText(text)
    assert index >= 0
    box.setCurrentIndex(index)
    box.activated.emit(index)


@pytest.fixture
def general(qtbot: QtBot, store: FakeSettings) -> GeneralPage:
    page = GeneralPage(store)  # type: ignore[arg-type]
    qtbot.addWidget(page)
    return page


def test_general_acts_at_once(general: GeneralPage, store: FakeSettings) -> None:
    pick_text(general._appearance, "Dark")
    pick_text(general._text_size, "125 %")
    pick_text(general._sending, "Command-Return sends, Return starts a line")
    general._titles.click()
    changed = store.settings
    assert (changed.appearance, changed.text_size) == ("dark", 125)
    assert not changed.return_sends
    assert not changed.titles_by_model


def test_general_follows_changes_made_elsewhere(general: GeneralPage, store: FakeSettings) -> None:
    store.update(text_size=150, reasoning_open=True)
    assert general._text_size.currentText() == "150 %"
    assert general._reasoning.isChecked()


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def memory(qtbot: QtBot, store: FakeSettings, engine: FakeEngine, tmp_path: Path) -> MemoryPage:
    page = MemoryPage(store, engine, tmp_path)  # type: ignore[arg-type]
    qtbot.addWidget(page)
    return page


def test_memory_is_automatic_at_first(memory: MemoryPage, store: FakeSettings) -> None:
    assert memory._automatic.isChecked()
    assert not memory._target.isEnabled()
    memory._automatic.click()
    assert store.settings.memory_bytes is not None
    assert memory._target.isEnabled()


def test_target_is_kept_and_told_to_the_engine_when_released(
    memory: MemoryPage, store: FakeSettings, engine: FakeEngine
) -> None:
    store.update(memory_bytes=3 * GB)
    engine.become(**{f: getattr(loaded_state(), f) for f in ("model", "plan", "facts", "stats")})
    memory._target.setSliderDown(True)
    memory._target.setSliderPosition(35)
    assert engine.calls == []
    memory._target.setSliderDown(False)
    assert store.settings.memory_bytes == 35 * STEP_BYTES
    assert engine.calls == [("resize", (35 * STEP_BYTES,))]


def test_target_says_what_it_means(
    memory: MemoryPage, store: FakeSettings, engine: FakeEngine
) -> None:
    store.update(memory_bytes=3 * GB)
    engine.become(**{f: getattr(loaded_state(), f) for f in ("model", "plan", "facts", "stats")})
    words = memory._meaning.text()
    assert "of 256 experts" in words
    assert "tokens/s" in words


def test_plan_is_shown_before_anything_is_loaded(
    qtbot: QtBot, memory: MemoryPage, store: FakeSettings, engine: FakeEngine
) -> None:
    store.update(model=MODEL)
    memory.show()
    qtbot.waitUntil(lambda: engine.calls == [("plan", (MODEL, None))])
    engine.planned.emit(planned())
    assert memory._plan._words.text() == "Takes 3.0 GB of the 6.0 GB that are free."
    assert memory._meaning.text() == "Keeps 70 of 256 experts of each layer in memory."
    assert memory._target.minimum() * STEP_BYTES >= 2.2 * GB
    assert memory._target.maximum() * STEP_BYTES <= 5.5 * GB


def test_plan_follows_the_slider_and_what_is_late_is_dropped(
    qtbot: QtBot, memory: MemoryPage, store: FakeSettings, engine: FakeEngine
) -> None:
    store.update(model=MODEL, memory_bytes=3 * GB)
    memory.show()
    qtbot.waitUntil(lambda: engine.calls == [("plan", (MODEL, 3 * GB))])
    memory._target.setSliderDown(True)
    memory._target.setSliderPosition(25)
    qtbot.waitUntil(lambda: engine.calls[-1] == ("plan", (MODEL, 25 * STEP_BYTES)))
    engine.planned.emit(planned(memory_bytes=3 * GB))
    assert memory._plan._words.text() == "Looking at the model…"
    engine.planned.emit(planned(memory_bytes=25 * STEP_BYTES))
    assert memory._plan._words.text().startswith("Takes 3.0 GB")
    memory._target.setSliderDown(False)


def test_plan_is_made_anew_when_memory_was_given_back(
    qtbot: QtBot, memory: MemoryPage, store: FakeSettings, engine: FakeEngine
) -> None:
    store.update(model=MODEL)
    memory.show()
    qtbot.waitUntil(lambda: len(engine.calls) == 1)
    engine.become(model="loading", model_path=MODEL)
    engine.become(model="loaded")
    qtbot.waitUntil(lambda: len(engine.calls) == 2)
    engine.become(pressure="warning")
    engine.become(model="none", model_path="")
    qtbot.waitUntil(lambda: len(engine.calls) == 3)


def test_engine_gives_memory_back_after_a_time(memory: MemoryPage, store: FakeSettings) -> None:
    rows = memory.findChild(EngineRows)
    assert rows._unload_after.currentData() == 30
    pick_text(rows._unload_after, "After 4 hour(s) without a question")
    assert store.settings.unload_after_min == 240
    pick_text(rows._unload_after, "Never")
    assert store.settings.unload_after_min == 0


def test_own_kernels_can_be_switched_off_and_the_truth_is_told(
    memory: MemoryPage, store: FakeSettings, engine: FakeEngine
) -> None:
    rows = memory.findChild(EngineRows)
    assert rows._kernels.text() == "What computes is known once a model is loaded."
    rows._own_kernels.click()
    assert not store.settings.own_kernels
    engine.become(kernels=KernelReport("native", "cpu", "float32"))
    assert rows._kernels.text() == "Computed by Martlet's native core, on the CPU (float32)."
    shaders = (ShaderReport("moe", True), ShaderReport("router", False, "It differs."))
    engine.become(kernels=KernelReport("metal", "gpu", "bfloat16", shaders))
    assert "Switched off: router." in rows._kernels.text()


def test_reads_can_be_checked(memory: MemoryPage, store: FakeSettings) -> None:
    memory.findChild(EngineRows)._check_reads.click()
    assert store.settings.check_reads


def test_target_keeps_within_what_the_model_can_use(memory: MemoryPage, engine: FakeEngine) -> None:
    engine.become(**{f: getattr(loaded_state(), f) for f in ("model", "plan", "facts")})
    least = memory._target.minimum() * STEP_BYTES
    assert least >= 1.7 * GB, "core, conversation and eight experts a layer"
    assert memory._target.maximum() * STEP_BYTES <= 5.2 * GB, "all experts of all layers"


def test_model_of_new_conversations_can_be_chosen(
    qtbot: QtBot, store: FakeSettings, engine: FakeEngine, tmp_path: Path
) -> None:
    for name in ("one.qpack", "two.qpack"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text("{}")
    page = MemoryPage(store, engine, tmp_path)  # type: ignore[arg-type]
    qtbot.addWidget(page)
    pick_text(page._model, "two")
    assert store.settings.model == str((tmp_path / "two.qpack").resolve())


def test_model_that_is_away_is_still_named(
    qtbot: QtBot, store: FakeSettings, engine: FakeEngine, tmp_path: Path
) -> None:
    store.update(model=MODEL)
    page = MemoryPage(store, engine, tmp_path)  # type: ignore[arg-type]
    qtbot.addWidget(page)
    assert page._model.currentText() == "Qwen3.6-35B-A3B-4bit"


@pytest.fixture
def answering(qtbot: QtBot, store: FakeSettings) -> AnsweringPage:
    page = AnsweringPage(store)  # type: ignore[arg-type]
    qtbot.addWidget(page)
    return page


def spin(page: SettingsPage, name: str) -> QDoubleSpinBox:
    return next(s for s in page.findChildren(QDoubleSpinBox) if s.accessibleName() == name)


def test_numbers_are_optional(answering: AnsweringPage, store: FakeSettings) -> None:
    temperature = spin(answering, "Temperature")
    assert temperature.text() == "As the model says"
    temperature.setValue(0.7)
    spin(answering, "Top k").setValue(20)
    assert store.settings.sampling == Sampling(temperature=0.7, top_k=20)
    assert isinstance(store.settings.sampling.top_k, int)
    temperature.setValue(temperature.minimum())
    assert store.settings.sampling == Sampling(top_k=20)


def test_zero_is_a_choice(answering: AnsweringPage, store: FakeSettings) -> None:
    spin(answering, "Temperature").setValue(0)
    assert store.settings.sampling.temperature == 0.0


def test_every_number_that_can_be_set_is_a_sound_one(
    answering: AnsweringPage, store: FakeSettings
) -> None:
    for number in answering.findChildren(QDoubleSpinBox):
        for value in (number.minimum() + number.singleStep(), number.maximum()):
            number.setValue(value)
            store.settings.sampling.check()


def test_prompt_is_kept_while_typing(
    qtbot: QtBot, answering: AnsweringPage, store: FakeSettings
) -> None:
    qtbot.keyClicks(answering._prompt, "Be brief.")
    assert store.settings.system_prompt == "Be brief."


def test_presets_save_apply_and_delete(answering: AnsweringPage, store: FakeSettings) -> None:
    store.update(system_prompt="Be brief.", sampling=Sampling(temperature=0.2))
    answering.save_preset(" Brief ")
    store.update(system_prompt="", sampling=Sampling())
    pick_text(answering._presets, "Brief")
    assert store.settings.system_prompt == "Be brief."
    assert store.settings.sampling == Sampling(temperature=0.2)
    answering._remove.click()
    assert store.settings.presets == ()


def test_preset_of_the_same_name_is_replaced(answering: AnsweringPage, store: FakeSettings) -> None:
    answering.save_preset("One")
    store.update(system_prompt="New.")
    answering.save_preset("One")
    assert store.settings.presets == (Preset("One", "New."),)


def test_folders_are_added_once_and_removed(
    qtbot: QtBot, store: FakeSettings, tmp_path: Path
) -> None:
    page = FoldersPage(store, tmp_path, tmp_path)  # type: ignore[arg-type]
    qtbot.addWidget(page)
    for folder in ("/a", "/b", "/a"):
        page.add_folder(folder)
    assert store.settings.model_folders == ("/a", "/b")
    page._list.setCurrentRow(0)
    page._remove.click()
    assert store.settings.model_folders == ("/b",)


@pytest.fixture
def state(tmp_path: Path) -> QSettings:
    return QSettings(str(tmp_path / "w.ini"), QSettings.Format.IniFormat)


def test_window_is_named_after_its_page_and_remembers_it(
    qtbot: QtBot, store: FakeSettings, state: QSettings
) -> None:
    def window() -> SettingsWindow:
        made = SettingsWindow((GeneralPage(store), PrivacyPage()), state)  # type: ignore[arg-type]
        qtbot.addWidget(made)
        return made

    first = window()
    assert first.windowTitle() == "General"
    first._actions[1].trigger()
    assert first.windowTitle() == "Privacy"
    assert window().windowTitle() == "Privacy"


@pytest.mark.parametrize("value", ["7", "-1", "many", ""])
def test_window_bears_a_state_that_makes_no_sense(
    qtbot: QtBot, store: FakeSettings, state: QSettings, value: str
) -> None:
    state.setValue("settings/page", value)
    window = SettingsWindow((GeneralPage(store),), state)  # type: ignore[arg-type]
    qtbot.addWidget(window)
    assert window.windowTitle() == "General"


def test_it_is_a_window_and_not_a_sheet(
    qtbot: QtBot, store: FakeSettings, state: QSettings
) -> None:
    window = SettingsWindow((GeneralPage(store),), state)  # type: ignore[arg-type]
    qtbot.addWidget(window)
    assert window.windowModality() == Qt.WindowModality.NonModal
