"""Local Server: whether other programs may ask the model, where, with which key, and how."""

from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from app.engine_client import EngineClient
from app.engine_state import EngineState
from app.local_server import LocalServer, ServerStatus
from app.settings import EVERYWHERE, LOOPBACK, Settings
from app.settings_store import SettingsStore
from app.ui import server_words, theme
from app.ui.label import Label
from app.ui.settings.example import EXAMPLES, VARIABLE
from app.ui.settings.page import FIELD_WIDTH, SettingsPage, choice, pick, switch
from app.ui.status_bar import Light
from app.ui.theme import SPACE

LEAST_PORT, MOST_PORT = 1024, 65535  # lower ones are the system's
WIDTH = 120 * SPACE  # of the example and of what goes with it
EXAMPLE_HEIGHT = 34 * SPACE


class ServerPage(SettingsPage):
    """The server of the application, which answers OpenAI's clients."""

    def __init__(
        self,
        store: SettingsStore,
        engine: EngineClient,
        server: LocalServer,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(self.tr("Local Server"), "server", parent)
        self._store = store
        self._engine = engine
        self._server = server
        self._on = switch(self.tr("Let other programs ask the model"), server.switch)
        self._light = Light()
        self._status = Label(wrap=True)
        self._status.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._address = choice(
            [
                (self.tr("This computer only"), LOOPBACK),
                (self.tr("All computers on the network"), EVERYWHERE),
            ],
            self._listen_at,
        )
        self._port = QSpinBox()
        self._port.setRange(LEAST_PORT, MOST_PORT)
        self._port.setKeyboardTracking(False)  # or each digit would be a port
        self._port.valueChanged.connect(lambda port: store.update(server_port=port))
        self._keyed = switch(self.tr("Programs must send a key"), self._ask_key)
        self._key = QLineEdit()
        self._key.setReadOnly(True)
        self._key.setEchoMode(QLineEdit.EchoMode.Password)
        self._copy_key = QPushButton(self.tr("Copy Key"))
        self._copy_key.clicked.connect(lambda: _copy(server.key))
        self._make_key = QPushButton(self.tr("Generate"))
        self._make_key.setToolTip(self.tr("Programs with the old key are refused from then on."))
        self._make_key.clicked.connect(self._generate)
        self._example_kind = choice([(e.name, e) for e in EXAMPLES], lambda _: self._show_example())
        self._copy_example = QPushButton(self.tr("Copy Example"))
        self._example = QPlainTextEdit()
        self._copy_example.clicked.connect(lambda: _copy(self._example.toPlainText()))
        self._example.setReadOnly(True)
        self._example.setTabChangesFocus(True)
        self._example.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._example.setFont(theme.code_font(theme.CAPTION))
        self._example.setFixedSize(WIDTH, EXAMPLE_HEIGHT)
        self._lay_out()
        store.changed.connect(self.show_settings)
        server.changed.connect(self._show_status)
        engine.state_changed.connect(self._on_engine)
        self.show_settings(store.settings)
        self._show_status(server.status)

    def show_settings(self, settings: Settings) -> None:
        """Show the settings in force."""
        self._on.setChecked(settings.server_on)
        if self._address.findData(settings.server_host) < 0:  # written by hand
            self._address.addItem(settings.server_host, settings.server_host)
        pick(self._address, settings.server_host)
        with QSignalBlocker(self._port):
            self._port.setValue(settings.server_port)
        self._keyed.setChecked(settings.server_keyed)
        self._keyed.setEnabled(settings.server_host == LOOPBACK)
        if self.isVisible():
            self._show_key()
        self._show_example()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show_key()  # not before: the keychain may ask the person

    def _show_status(self, status: ServerStatus) -> None:
        condition = server_words.condition(status)
        self._light.set_role(condition.light)
        self._status.setText(condition.text)
        self._on.setEnabled(status.condition != "missing")

    def _on_engine(self, _: EngineState) -> None:
        self._show_example()

    def _show_key(self) -> None:
        keyed = self._store.settings.server_keyed
        key = self._server.key if keyed else ""
        self._key.setText(key)
        for widget in (self._key, self._make_key):
            widget.setEnabled(keyed)
        self._copy_key.setEnabled(bool(key))

    def _show_example(self) -> None:
        settings, state = self._store.settings, self._engine.state
        url = state.serving.url or f"http://{settings.server_host}:{settings.server_port}/v1"
        name = Path(state.model_path or settings.model).stem
        example = self._example_kind.currentData()
        text = example.text(url.replace(EVERYWHERE, LOOPBACK), name, settings.server_keyed)
        if text != self._example.toPlainText():  # or what is selected would be lost
            self._example.setPlainText(text)
        words = self._about_example(settings)
        self._hint.setText(words)
        self._hint.setVisible(bool(words))

    def _about_example(self, settings: Settings) -> str:
        words = []
        if settings.server_host == EVERYWHERE:
            others = self.tr(
                "On other computers, this one's address takes the place of %1. Key and words travel"
                " the network unencrypted."
            )
            words.append(others.replace("%1", LOOPBACK))
        if settings.server_keyed:
            variable = self.tr("The example finds the key in the variable %1.")
            words.append(variable.replace("%1", VARIABLE))
        return " ".join(words)

    def _ask_key(self, on: bool) -> None:
        self._say_kept(self._server.ask_key(on))

    def _listen_at(self, host: str) -> None:
        self._say_kept(self._server.listen_at(host))

    def _generate(self) -> None:
        self._say_kept(self._server.make_key())

    def _say_kept(self, kept: bool) -> None:
        self._kept.setVisible(not kept)
        self._show_key()

    def _lay_out(self) -> None:
        self.form.addRow("", self._on)
        self.form.addRow("", self._status_row())
        self.add_row(self.tr("Listen to:"), self._address)
        self.add_row(self.tr("Port:"), self._port)
        self.form.addRow("", self._keyed)
        self.add_row(self.tr("Key:"), _row(self._key, self._copy_key, self._make_key))
        self._key.setAccessibleName(self.tr("Key"))
        self._kept = self.add_note(
            self.tr("There is no keychain here: the key is kept until you quit.")
        )
        self._kept.hide()
        self.add_row(self.tr("Example:"), _row(self._example_kind, self._copy_example))
        self._example_kind.setAccessibleName(self.tr("Kind of example"))
        self.form.addRow("", self._example)
        self._example.setAccessibleName(self.tr("Example"))
        self._hint = self.add_note()
        about = self.add_note(
            self.tr(
                "Clients of OpenAI's API work. They take turns with your own questions, one answer"
                " at a time. If no model is in memory, yours is loaded."
            )
        )
        for note in (self._hint, about):
            note.setFixedWidth(WIDTH)
        self.column.addStretch(1)

    def _status_row(self) -> QHBoxLayout:
        """The light stands beside the first line."""
        top = Qt.AlignmentFlag.AlignTop
        beside = QVBoxLayout()
        beside.addSpacing(SPACE)
        beside.addWidget(self._light)
        self._status.setFixedWidth(WIDTH - self._light.width() - 2 * SPACE)
        row = QHBoxLayout()
        row.setSpacing(2 * SPACE)
        row.addLayout(beside)
        row.setAlignment(beside, top)
        row.addWidget(self._status, 0, top)
        return row


def _row(*widgets: QWidget) -> QWidget:
    """Widgets side by side; the first one takes the room that is left."""
    field = QWidget()
    row = QHBoxLayout(field)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(2 * SPACE)
    for place, widget in enumerate(widgets):
        row.addWidget(widget, 1 if place == 0 else 0)
    field.setFixedWidth(FIELD_WIDTH)
    return field


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)
