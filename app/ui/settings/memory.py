"""Model & Memory: which model answers, how much memory it may take, and what that means."""

from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt, QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QSlider, QWidget

from app.engine_client import EngineClient
from app.engine_state import EngineState, Planned
from app.installed_models import installed_models, model_name
from app.memory_outlook import Outlook, machine_bytes, outlook, target_range
from app.settings import Settings
from app.settings_store import SettingsStore
from app.ui import figures
from app.ui.label import Label
from app.ui.settings.engine_rows import EngineRows
from app.ui.settings.page import FIELD_WIDTH, SettingsPage, choice, pick, switch
from app.ui.settings.plan_view import PlanView
from app.ui.theme import SPACE

STEP_BYTES = 100_000_000
AMOUNT_WIDTH = 16 * SPACE
LEAST_BYTES = 500_000_000  # while it is not known what the model needs
ASK_MS = 150  # after the last move of the slider


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
        self._automatic = switch(
            self.tr("As much as is free, leaving room for other programs"), self._set_automatic
        )
        self._target = QSlider(Qt.Orientation.Horizontal)
        self._amount = Label(tabular=True)
        self._amount.setFixedWidth(AMOUNT_WIDTH)
        self._plan = PlanView()
        self._planned: Planned | None = None  # of the model that is chosen
        self._known = ("", "")  # what the engine had when it was asked for a plan
        self._ask = QTimer(self, interval=ASK_MS, singleShot=True)
        self._ask.timeout.connect(self._ask_for_plan)
        self._target.valueChanged.connect(self._on_moved)
        self._target.sliderReleased.connect(self._keep_target)
        self._target.actionTriggered.connect(self._on_key)
        self._lay_out()
        store.changed.connect(self.show_settings)
        engine.state_changed.connect(self._on_engine)
        engine.planned.connect(self._on_planned)
        self.show_settings(store.settings)

    def show_settings(self, settings: Settings) -> None:
        """Show the settings in force."""
        self._list_models(settings)
        self._automatic.setChecked(settings.memory_bytes is None)
        if self._planned is not None and self._planned.path != settings.model:
            self._planned = None
            self._plan.show_planned(None)
        self._plan.setVisible(bool(settings.model))
        self._show_engine(self._engine.state)
        self._ask_soon()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._ask_soon()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._ask.stop()

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

    def _on_engine(self, state: EngineState) -> None:
        """What is free changes with what is loaded."""
        known = (state.model, state.model_path)
        if known != self._known and state.model != "loading":
            self._known = known
            self._ask_soon()
        self._show_engine(state)

    def _ask_soon(self) -> None:
        """For a plan of what is chosen; nobody needs one that does not look."""
        if self.isVisible() and self._store.settings.model:
            self._ask.start()

    def _ask_for_plan(self) -> None:
        self._engine.plan(self._store.settings.model, self._chosen_bytes())

    def _on_planned(self, planned: Planned) -> None:
        asked = (self._store.settings.model, self._chosen_bytes())
        if (planned.path, planned.memory_bytes) == asked:
            self._planned = planned
            self._plan.show_planned(planned)
            self._show_engine(self._engine.state)

    def _chosen_bytes(self) -> int | None:
        """The target as it stands on the screen; None for what the machine should give."""
        if self._target.isSliderDown():
            return self._target.value() * STEP_BYTES
        return self._store.settings.memory_bytes

    def _show_engine(self, state: EngineState) -> None:
        """The limits of the target depend on the model."""
        if self._target.isSliderDown():
            return
        least, most = self._limits(state)
        with QSignalBlocker(self._target):
            self._target.setRange(-(-least // STEP_BYTES), -(-most // STEP_BYTES))
            self._target.setValue(self._target_bytes(state) // STEP_BYTES)
        self._target.setEnabled(self._store.settings.memory_bytes is not None)
        self._show_target()

    def _limits(self, state: EngineState) -> tuple[int, int]:
        """The least and the most that can be chosen."""
        most = machine_bytes()
        if state.plan is not None and state.facts is not None:
            least, whole = target_range(state.plan, state.facts)
        elif self._planned is not None and self._planned.ledger is not None:
            least, whole = self._planned.least_bytes, self._planned.most_bytes
        else:
            return LEAST_BYTES, most
        return least, max(min(whole, most), least)

    def _target_bytes(self, state: EngineState) -> int:
        chosen = self._store.settings.memory_bytes
        if chosen is not None:
            return chosen
        if state.plan is not None:
            return state.plan.budget_bytes
        ledger = self._planned.ledger if self._planned else None
        return ledger.total_bytes if ledger else machine_bytes() // 4

    def _on_moved(self) -> None:
        self._show_target()
        self._ask_soon()

    def _show_target(self) -> None:
        target = self._target.value() * STEP_BYTES
        self._amount.setText(figures.memory(target))
        self._target.setAccessibleDescription(self._amount.text())
        state = self._engine.state
        if state.plan is None or state.facts is None:
            ledger = self._planned.ledger if self._planned else None
            self._meaning.setText(
                self._kept(ledger.slots_per_layer, ledger.expert_count) if ledger else ""
            )
            return
        self._meaning.setText(self._words(outlook(target, state.plan, state.facts, state.stats)))

    def _words(self, expected: Outlook) -> str:
        if not expected.fits:
            return self.tr("Too little for this model: it could not keep one token's experts.")
        kept = self._kept(expected.slots_per_layer, expected.expert_count)
        if expected.hit_rate is None or expected.tokens_per_s is None:
            return kept + " " + self.tr("How fast that is will be measured while it answers.")
        speed = self.tr("About %1 tokens/s, with %2 of experts found there.")
        speed = speed.replace("%1", figures.rate(expected.tokens_per_s))
        return kept + " " + speed.replace("%2", figures.share(expected.hit_rate))

    def _kept(self, slots: int, experts: int) -> str:
        kept = self.tr("Keeps %1 of %2 experts of each layer in memory.")
        return kept.replace("%1", figures.count(slots)).replace("%2", figures.count(experts))

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
        self.add_row(self.tr("Memory:"), self._automatic)
        row = QWidget()
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(self._target, 1)
        line.addWidget(self._amount)
        row.setFixedWidth(FIELD_WIDTH)
        self.add_row(self.tr("At most:"), row)
        self._target.setAccessibleName(self.tr("Memory at most"))
        self._plan.setFixedWidth(FIELD_WIDTH)
        self.form.addRow("", self._plan)
        self._meaning = self.add_note()
        self.add_note(
            self.tr(
                "Experts that are not in memory are read from the disk when a token needs them."
                " More memory means fewer reads; the answers are the same."
            )
        )
        EngineRows(self, self._store, self._engine)
        self.column.addStretch(1)
