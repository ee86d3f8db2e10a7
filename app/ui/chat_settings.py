"""ConversationSettings: what this conversation does differently. A sheet; changes act at once."""

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFormLayout,
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.chat_controller import ChatController
from app.settings import Overrides, Preset, Settings
from app.ui import theme
from app.ui.label import Label
from app.ui.sampling_form import SamplingRows
from app.ui.settings.page import choice, pick
from app.ui.theme import SPACE, Role

FIELD_WIDTH = 84 * SPACE


class ConversationSettings(QDialog):
    """The overrides of the conversation that `chat` shows, beside what they override."""

    def __init__(
        self, chat: ChatController, settings: Settings, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._chat = chat
        self._settings = settings
        self._overrides = chat.conversation.overrides if chat.conversation else Overrides()
        self.setWindowTitle(self.tr("Conversation Settings"))
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._own_prompt = QCheckBox(self.tr("Its own system prompt"))
        self._own_prompt.clicked.connect(self._choose_prompt)
        self._prompt = QPlainTextEdit()
        self._prompt.setTabChangesFocus(True)
        self._prompt.setPlaceholderText(self.tr("None: the model answers as it was trained."))
        self._prompt.setFixedSize(FIELD_WIDTH, 22 * SPACE)
        self._prompt.setAccessibleName(self.tr("System prompt of this conversation"))
        self._prompt.textChanged.connect(self._keep_prompt)
        self._thinking = choice(
            [
                (self.tr("As in Settings"), None),
                (self.tr("Think first"), True),
                (self.tr("Answer at once"), False),
            ],
            lambda value: self._keep(replace(self._overrides, thinking=value)),
        )
        self._presets = choice(
            [(preset.name, preset) for preset in settings.presets], self._apply_preset
        )
        self._summary = Label(role=Role.SECONDARY, size=theme.CAPTION)
        self._lay_out()
        self._show()

    def _show(self) -> None:
        own = self._overrides.system_prompt
        self._own_prompt.setChecked(own is not None)
        self._prompt.setEnabled(own is not None)
        shown = self._settings.system_prompt if own is None else own
        if self._prompt.toPlainText() != shown:
            self._prompt.setPlainText(shown)
        pick(self._thinking, self._overrides.thinking)
        self._sampling.show_sampling(self._overrides.sampling)
        self._summarize()

    def _summarize(self) -> None:
        different = len(self._overrides.differing())
        words = (
            self.tr("%n choice(s) differ from Settings.", "", different)
            if different
            else self.tr("Nothing differs from Settings.")
        )
        self._summary.setText(words)

    def _choose_prompt(self, own: bool) -> None:
        prompt = self._settings.system_prompt if own else None
        self._keep(replace(self._overrides, system_prompt=prompt))
        self._show()

    def _keep_prompt(self) -> None:
        if self._own_prompt.isChecked():
            self._keep(replace(self._overrides, system_prompt=self._prompt.toPlainText()))

    def _apply_preset(self, preset: Preset) -> None:
        self._keep(
            replace(self._overrides, system_prompt=preset.system_prompt, sampling=preset.sampling)
        )
        self._show()

    def _reset(self) -> None:
        self._keep(Overrides())
        self._show()

    def _keep(self, overrides: Overrides) -> None:
        if overrides != self._overrides:
            self._overrides = overrides
            self._chat.set_overrides(overrides)
            self._summarize()

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(6 * SPACE, 5 * SPACE, 6 * SPACE, 4 * SPACE)
        column.setSpacing(3 * SPACE)
        form = QFormLayout()
        form.setSpacing(3 * SPACE)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignRight)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.FieldsStayAtSizeHint)
        if self._presets.count():
            self._presets.setCurrentIndex(-1)
            self._presets.setPlaceholderText(self.tr("Start from a preset"))
            form.addRow(self.tr("Preset:"), self._presets)
        form.addRow("", self._own_prompt)
        form.addRow("", self._prompt)
        form.addRow(self.tr("Thinking:"), self._thinking)
        self._sampling = SamplingRows(form, self.tr("As in Settings"), self)
        self._sampling.edited.connect(
            lambda sampling: self._keep(replace(self._overrides, sampling=sampling))
        )
        column.addLayout(form)
        column.addLayout(self._buttons())

    def _buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        reset = QPushButton(self.tr("Use Settings for All"))
        reset.clicked.connect(self._reset)
        reset.setAutoDefault(False)
        done = QPushButton(self.tr("Done"))
        done.clicked.connect(self.accept)
        done.setDefault(True)
        row.addWidget(self._summary)
        row.addStretch(1)
        row.addWidget(reset)
        row.addWidget(done)
        return row
