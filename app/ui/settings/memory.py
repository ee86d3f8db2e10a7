"""Model & Memory: which model answers, how much memory it may take, and what that means."""

from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QHBoxLayout, QSlider, QWidget

from app.engine_client import EngineClient
from app.engine_state import EngineState
from app.installed_models import installed_models, model_name
from app.memory_outlook import Outlook, machine_bytes, outlook, target_range
from app.settings import Settings
from app.settings_store import SettingsStore
from app.ui import figures
from app.ui.label import Label
from app.ui.settings.page import FIELD_WIDTH, SettingsPage, choice, pick, switch
from app.ui.theme import SPACE

STEP_BYTES = 100_000_000
AMOUNT_WIDTH = 16 * SPACE
LEAST_BYTES = 500_000_000  # while no model is loaded to say what it needs


class MemoryPage(SettingsPage):
    """The model and its memory."""

    def __init__(
        self,
        store: SettingsStore,
        engine: EngineClient,
        models_folder: Path,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(self.tr("Model & Memory"), "memory", parent)
        self._store = store
        self._engine = engine
        self._models_folder = models_folder
        self._model = choice([], lambda path: store.update(model=path))
        self._load_at_start = switch(
            self.tr("Load the model when Martlet starts"),
            lambda on: store.update(load_at_start=on),
        )
        self._automatic = switch(
            self.tr("As much as is free, leaving room for other programs"), self._set_automatic
        )
        self._target = QSlider(Qt.Orientation.Horizontal)
        self._amount = Label(tabular=True)
        self._amount.setFixedWidth(AMOUNT_WIDTH)
        self._target.valueChanged.connect(self._show_target)
        self._target.sliderReleased.connect(self._keep_target)
        self._target.actionTriggered.connect(self._on_key)
        self._lay_out()
        store.changed.connect(self.show_settings)
        engine.state_changed.connect(self._show_engine)
        self.show_settings(store.settings)

    def show_settings(self, settings: Settings) -> None:
        """Show the settings in force."""
        self._list_models(settings)
        self._load_at_start.setChecked(settings.load_at_start)
        self._automatic.setChecked(settings.memory_bytes is None)
        self._show_engine(self._engine.state)

    def _list_models(self, settings: Settings) -> None:
        folders = (self._models_folder, *map(Path, settings.model_folders))
        models = {model.path: model.name for model in installed_models(folders)}
        if settings.model:
            models.setdefault(settings.model, model_name(settings.model))
        self._model.clear()
        for path, name in models.items():
            self._model.addItem(name, path)
        self._model.setEnabled(bool(models))
        pick(self._model, settings.model)

    def _show_engine(self, state: EngineState) -> None:
        """The limits of the target depend on the loaded model."""
        if self._target.isSliderDown():
            return
        least, most = LEAST_BYTES, machine_bytes()
        if state.plan is not None and state.facts is not None:
            least, whole = target_range(state.plan, state.facts)
            most = max(min(whole, most), least)
        with QSignalBlocker(self._target):
            self._target.setRange(-(-least // STEP_BYTES), -(-most // STEP_BYTES))
            self._target.setValue(self._target_bytes(state) // STEP_BYTES)
        self._target.setEnabled(self._store.settings.memory_bytes is not None)
        self._show_target()

    def _target_bytes(self, state: EngineState) -> int:
        chosen = self._store.settings.memory_bytes
        if chosen is not None:
            return chosen
        return state.plan.budget_bytes if state.plan is not None else machine_bytes() // 4

    def _show_target(self) -> None:
        target = self._target.value() * STEP_BYTES
        self._amount.setText(figures.memory(target))
        self._target.setAccessibleDescription(self._amount.text())
        state = self._engine.state
        if state.plan is None or state.facts is None:
            self._meaning.setText(self.tr("Load a model to see what a target means for it."))
            return
        self._meaning.setText(self._words(outlook(target, state.plan, state.facts, state.stats)))

    def _words(self, expected: Outlook) -> str:
        if not expected.fits:
            return self.tr("Too little for this model: it could not keep one token's experts.")
        kept = self.tr("Keeps %1 of %2 experts of each layer in memory.")
        kept = kept.replace("%1", figures.count(expected.slots_per_layer))
        kept = kept.replace("%2", figures.count(expected.expert_count))
        if expected.hit_rate is None or expected.tokens_per_s is None:
            return kept + " " + self.tr("How fast that is will be measured while it answers.")
        speed = self.tr("About %1 tokens/s, with %2 of experts found there.")
        speed = speed.replace("%1", figures.rate(expected.tokens_per_s))
        return kept + " " + speed.replace("%2", figures.share(expected.hit_rate))

    def _set_automatic(self, on: bool) -> None:
        target = None if on else self._target_bytes(self._engine.state)
        self._store.update(memory_bytes=target)

    def _keep_target(self) -> None:
        target = self._target.value() * STEP_BYTES
        self._store.update(memory_bytes=target)
        if self._engine.state.model == "loaded":
            self._engine.resize(target)

    def _on_key(self) -> None:
        if not self._target.isSliderDown():
            self._target.setValue(self._target.sliderPosition())
            self._keep_target()

    def _lay_out(self) -> None:
        self.add_row(self.tr("New conversations use:"), self._model)
        self.form.addRow("", self._load_at_start)
        self.add_row(self.tr("Memory:"), self._automatic)
        row = QWidget()
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(self._target, 1)
        line.addWidget(self._amount)
        row.setFixedWidth(FIELD_WIDTH)
        self.add_row(self.tr("At most:"), row)
        self._target.setAccessibleName(self.tr("Memory at most"))
        self._meaning = self.add_note()
        self.add_note(
            self.tr(
                "Experts that are not in memory are read from the disk when a token needs them."
                " More memory means fewer reads; the answers are the same."
            )
        )
        self.column.addStretch(1)
