"""General: appearance, text, sending, what happens by itself."""

from PySide6.QtWidgets import QWidget

from app.settings import TEXT_SIZES, Settings
from app.settings_store import SettingsStore
from app.ui.settings.page import SettingsPage, choice, pick, switch


class GeneralPage(SettingsPage):
    """The first page."""

    def __init__(self, store: SettingsStore, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("General"), "general", parent)
        self._store = store
        self._appearance = choice(
            [
                (self.tr("As the system"), "system"),
                (self.tr("Light"), "light"),
                (self.tr("Dark"), "dark"),
            ],
            lambda value: store.update(appearance=value),
        )
        self._text_size = choice(
            [(f"{size} %", size) for size in TEXT_SIZES],
            lambda value: store.update(text_size=value),
        )
        self._sending = choice(
            [
                (self.tr("Return sends, Shift-Return starts a line"), True),
                (self.tr("Command-Return sends, Return starts a line"), False),
            ],
            lambda value: store.update(return_sends=value),
        )
        self._reasoning = switch(
            self.tr("Show a model's thinking unfolded"),
            lambda on: store.update(reasoning_open=on),
        )
        self._titles = switch(
            self.tr("Name conversations while the model is idle"),
            lambda on: store.update(titles_by_model=on),
        )
        self._notify = switch(
            self.tr("Ask for attention when an answer is done in the background"),
            lambda on: store.update(notify_when_done=on),
        )
        self._lay_out()
        store.changed.connect(self.show_settings)
        self.show_settings(store.settings)

    def show_settings(self, settings: Settings) -> None:
        """Show the settings in force."""
        pick(self._appearance, settings.appearance)
        pick(self._text_size, settings.text_size)
        pick(self._sending, settings.return_sends)
        self._reasoning.setChecked(settings.reasoning_open)
        self._titles.setChecked(settings.titles_by_model)
        self._notify.setChecked(settings.notify_when_done)

    def _lay_out(self) -> None:
        self.add_row(self.tr("Appearance:"), self._appearance)
        self.add_row(self.tr("Text size:"), self._text_size)
        self.add_row(self.tr("Sending:"), self._sending)
        for box in (self._reasoning, self._titles, self._notify):
            self.form.addRow("", box)
        self.column.addStretch(1)
