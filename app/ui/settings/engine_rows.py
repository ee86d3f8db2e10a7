"""EngineRows: when a model is in memory, and what computes it; rows of a page of settings."""

from PySide6.QtCore import QObject

from app.engine_client import EngineClient
from app.engine_state import EngineState
from app.settings import UNLOAD_AFTER_MIN, Settings
from app.settings_store import SettingsStore
from app.ui import engine_words
from app.ui.settings.page import SettingsPage, choice, pick, switch


class EngineRows(QObject):
    """Appends its rows to a page."""

    def __init__(self, page: SettingsPage, store: SettingsStore, engine: EngineClient) -> None:
        super().__init__(page)
        self._load_at_start = switch(
            self.tr("Load the model when Martlet starts"),
            lambda on: store.update(load_at_start=on),
        )
        self._unload_after = choice(
            [(self._minutes(count), count) for count in UNLOAD_AFTER_MIN],
            lambda count: store.update(unload_after_min=count),
        )
        self._own_kernels = switch(
            self.tr("Use Martlet's own GPU kernels"), lambda on: store.update(own_kernels=on)
        )
        self._check_reads = switch(
            self.tr("Check a sample of what is read for damage"),
            lambda on: store.update(check_reads=on),
        )
        page.add_row(self.tr("At the start:"), self._load_at_start)
        page.add_row(self.tr("Give memory back:"), self._unload_after)
        page.add_row(self.tr("Computing:"), self._own_kernels)
        self._kernels = page.add_note()
        page.add_row(self.tr("Disk:"), self._check_reads)
        store.changed.connect(self.show_settings)
        engine.state_changed.connect(self._show_engine)
        self.show_settings(store.settings)
        self._show_engine(engine.state)

    def show_settings(self, settings: Settings) -> None:
        """Show the settings in force."""
        self._load_at_start.setChecked(settings.load_at_start)
        pick(self._unload_after, settings.unload_after_min)
        self._own_kernels.setChecked(settings.own_kernels)
        self._check_reads.setChecked(settings.check_reads)

    def _show_engine(self, state: EngineState) -> None:
        words = (engine_words.kernels(state.kernels), engine_words.kernels_off(state.kernels))
        self._kernels.setText(" ".join(words).strip())

    def _minutes(self, count: int) -> str:
        if count == 0:
            return self.tr("Never")
        if count < 60:
            return self.tr("After %n minute(s) without a question", "", count)
        return self.tr("After %n hour(s) without a question", "", count // 60)
