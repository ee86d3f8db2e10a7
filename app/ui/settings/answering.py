"""Prompt & Sampling: what every conversation starts with, and presets to start from."""

from dataclasses import replace

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QHBoxLayout, QInputDialog, QPlainTextEdit, QPushButton, QWidget

from app.settings import Preset, Settings
from app.settings_store import SettingsStore
from app.ui.sampling_form import SamplingRows
from app.ui.settings.page import FIELD_WIDTH, SettingsPage, choice
from app.ui.theme import SPACE

PROMPT_HEIGHT = 24 * SPACE


class AnsweringPage(SettingsPage):
    """The system prompt and the sampling of conversations that choose nothing of their own."""

    def __init__(self, store: SettingsStore, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Prompt & Sampling"), "settings", parent)
        self._store = store
        self._presets = choice([], self._apply)
        self._presets.setPlaceholderText(self.tr("Start from a preset"))
        self._save = QPushButton(self.tr("Save as Preset…"))
        self._save.clicked.connect(self._ask_name)
        self._remove = QPushButton(self.tr("Delete Preset"))
        self._remove.clicked.connect(self._delete)
        self._prompt = QPlainTextEdit()
        self._prompt.setTabChangesFocus(True)
        self._prompt.setFixedSize(FIELD_WIDTH, PROMPT_HEIGHT)
        self._prompt.textChanged.connect(self._keep_prompt)
        self._prompt.setPlaceholderText(self.tr("None: the model answers as it was trained."))
        self._lay_out()
        self._sampling = SamplingRows(self.form, self.tr("As the model says"), self)
        self._sampling.edited.connect(lambda sampling: store.update(sampling=sampling))
        store.changed.connect(self.show_settings)
        self.show_settings(store.settings)

    def show_settings(self, settings: Settings) -> None:
        """Show the settings in force."""
        if self._prompt.toPlainText() != settings.system_prompt:
            with QSignalBlocker(self._prompt):
                self._prompt.setPlainText(settings.system_prompt)
        if self._sampling.sampling != settings.sampling:
            self._sampling.show_sampling(settings.sampling)
        self._list_presets(settings)

    def _list_presets(self, settings: Settings) -> None:
        now = Preset("", settings.system_prompt, settings.sampling)
        self._presets.clear()
        for preset in settings.presets:
            self._presets.addItem(preset.name, preset)
        alike = [i for i, p in enumerate(settings.presets) if replace(p, name="") == now]
        self._presets.setCurrentIndex(alike[0] if alike else -1)
        self._presets.setEnabled(bool(settings.presets))
        self._remove.setEnabled(bool(alike))

    def _apply(self, preset: Preset) -> None:
        self._store.update(system_prompt=preset.system_prompt, sampling=preset.sampling)

    def _keep_prompt(self) -> None:
        self._store.update(system_prompt=self._prompt.toPlainText())

    def _ask_name(self) -> None:
        sheet = QInputDialog(self)
        sheet.setWindowTitle(self.tr("Save as Preset"))
        sheet.setLabelText(self.tr("Name of the preset:"))
        sheet.textValueSelected.connect(self.save_preset)
        sheet.finished.connect(sheet.deleteLater)
        sheet.open()

    def save_preset(self, name: str) -> None:
        """Keep the prompt and the sampling under a name; one of the same name is replaced."""
        settings, name = self._store.settings, name.strip()
        if name:
            others = tuple(p for p in settings.presets if p.name != name)
            preset = Preset(name, settings.system_prompt, settings.sampling)
            self._store.update(presets=(*others, preset))

    def _delete(self) -> None:
        name = self._presets.currentText()
        others = tuple(p for p in self._store.settings.presets if p.name != name)
        self._store.update(presets=others)

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.addWidget(self._presets, 1)
        row.addWidget(self._save)
        row.addWidget(self._remove)
        self._presets.setAccessibleName(self.tr("Presets"))
        self.form.addRow(self.tr("Preset:"), row)
        self.add_row(self.tr("System prompt:"), self._prompt)
        self.column.addStretch(1)
