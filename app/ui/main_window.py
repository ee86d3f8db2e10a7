"""MainWindow: one conversation at a time, with the list of all beside it.

It lays the parts out and passes on what controllers tell; commands are in `app.ui.commands`, and
notices in `app.ui.notices` and `app.ui.engine_notices`. Several windows share one workspace.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QAction, QCloseEvent, QDragEnterEvent, QDropEvent, QPalette, QShowEvent
from PySide6.QtWidgets import QMainWindow, QVBoxLayout, QWidget

from app.blocks.typesetter import Typesetter
from app.conversation import Activity, Conversation, Failure, Library
from app.engine_state import EngineState
from app.installed_models import DEMO, is_model, model_name
from app.settings import Settings
from app.ui import engine_words
from app.ui.banner import BannerArea
from app.ui.commands.chat import ChatCommands
from app.ui.commands.edit import EditCommands
from app.ui.commands.model import ModelCommands
from app.ui.commands.view import ViewCommands
from app.ui.conversation_pane import ConversationPane
from app.ui.engine_notices import EngineNotices
from app.ui.inspector import Inspector
from app.ui.menus import PLACES, Menus
from app.ui.notices import Notices
from app.ui.panels import Panels
from app.ui.sidebar import Sidebar
from app.ui.status_bar import StatusBar
from app.ui.theme import SPACE, Role, color
from app.ui.toolbar import Toolbar
from app.ui.transcript.column import Anchor
from app.workspace import Workspace

FIRST_SIZE = (1100, 740)
LEAST_HEIGHT = 90 * SPACE


class MainWindow(QMainWindow):
    """A window.

    Signals: see the comment of each.
    """

    # which commands make sense, or which are on, has changed
    commands_changed = Signal()
    # str: open another window on this conversation
    new_window_wanted = Signal(str)
    # the window is about to close; its state can be read a last time
    closing = Signal()

    def __init__(
        self, workspace: Workspace, menus: Menus, typesetter: Typesetter, models_folder: Path
    ) -> None:
        super().__init__()
        self._workspace = workspace
        self._activity = Activity()
        self._listed: frozenset[str] = frozenset()
        self._menus = menus
        self.actions_by_name: dict[str, QAction] = menus.actions
        self.chat = workspace.new_chat()
        self.sidebar = Sidebar(workspace.library)
        self.pane = ConversationPane(self.chat, workspace.settings, typesetter)
        self.banners = BannerArea()
        self.inspector = Inspector()
        self.panels = Panels(
            self.sidebar, _column((self.banners, 0), (self.pane, 1)), self.inspector
        )
        self.status = StatusBar()
        self.toolbar = Toolbar(menus.actions)
        self._edit = EditCommands(self)
        self._view = ViewCommands(self, workspace.settings)
        self._chats = ChatCommands(self, workspace)
        self.models = ModelCommands(self, workspace, models_folder)
        self.notices = Notices(self.banners, workspace, self.chat)
        self._engine_notices = EngineNotices(self.banners, workspace, self.models)
        self._lay_out(menus)
        self._connect()
        self._on_library(workspace.library.library)
        self._on_engine(workspace.engine.state)

    # What the window shows

    @property
    def model_path(self) -> str:
        """Path of the model that answers this conversation; "" for none."""
        own = self.chat.conversation.model if self.chat.conversation else ""
        return own or self._workspace.settings.settings.model

    @property
    def is_answering(self) -> bool:
        """Whether this conversation has a running or waiting answer."""
        return self._activity.phase != "idle"

    @property
    def is_listed(self) -> bool:
        """Whether the conversation shown is one of the list, not an empty new one."""
        return self.chat.conversation is not None and self.chat.conversation.id in self._listed

    # Commands

    def available(self) -> frozenset[str]:
        """Names of the commands that make sense now."""
        groups = (self._edit, self._view, self._chats, self.models)
        return frozenset(name for group in groups for name in group.available())

    def checked(self) -> frozenset[str]:
        """Names of the commands whose state is on."""
        return frozenset((*self._view.checked(), *self._chats.checked()))

    def command(self, name: str) -> Callable[[], object] | None:
        """What carries out a command on this window."""
        if name.startswith("go_to_"):
            place = int(name.removeprefix("go_to_")) - 1
            return lambda: self.sidebar.select_place(place) if place < PLACES else None
        for group in (self._edit, self._view, self._chats, self.models):
            if found := getattr(group, name, None):
                return found  # type: ignore[no-any-return]
        return None

    def fill_move_menu(self) -> None:
        """Fill the menu of folders for the conversation shown."""
        self._chats.fill_move_menu(self._menus.move_menu)

    def show_first(self, conversation_id: str, place: Anchor | None = None) -> None:
        """Show a conversation in a new window, at a place of it; "" for an empty one."""
        self.chat.open_new()  # one can write at once, however long the other takes to be read
        if conversation_id:
            self.pane.expect(conversation_id, place)
            self.chat.open(conversation_id)
        self.pane.focus_composer()

    def take_files(self, files: Sequence[Path]) -> None:
        """A model's folder is used from now on; other files are attached to the draft."""
        if len(files) == 1 and is_model(files[0]):
            self.models.use_folder(str(files[0]))
        elif files:
            self.chat.attach(files)
            self.pane.focus_composer()

    # What controllers tell

    def _on_library(self, library: Library) -> None:
        listed = frozenset(conversation.id for conversation in library.conversations)
        shown = self.chat.conversation
        is_gone = shown is not None and shown.id in self._listed and shown.id not in listed
        self._listed = listed
        if is_gone:
            self.chat.open_new()
        self._show_title()
        self.commands_changed.emit()

    def _on_conversation(self, conversation: Conversation) -> None:
        self.sidebar.list.set_current(conversation.id)
        self._show_title()
        self.toolbar.settings.set_dot(bool(conversation.overrides.differing()))
        self._show_model()
        self.commands_changed.emit()

    def _on_failed(self, _failure: Failure) -> None:
        self.pane.expect("")  # what was to be shown first may be gone

    def _on_activity(self, activity: Activity) -> None:
        changed = (activity.phase == "idle") != (self._activity.phase == "idle")
        self._activity = activity
        self._show_status()
        if changed:
            self.commands_changed.emit()

    def _on_engine(self, state: EngineState) -> None:
        self.inspector.show_state(state)
        self._show_status()
        self._show_model()
        self.commands_changed.emit()

    def _on_settings(self, settings: Settings) -> None:
        self._show_model()
        self.commands_changed.emit()

    def _show_title(self) -> None:
        shown = self.chat.conversation
        self.setWindowTitle(shown.title if shown and self.is_listed else self.tr("New Chat"))

    def _show_status(self) -> None:
        is_ours = self._activity.phase not in ("idle", "queued")
        self.status.show_state(self._workspace.engine.state, self._activity if is_ours else None)

    def _show_model(self) -> None:
        state, path = self._workspace.engine.state, self.model_path
        name = model_name(path) if path else ""
        if state.facts is not None and state.model_path == path != str(DEMO):
            name = state.facts.name
        self.toolbar.model.show_model(name, engine_words.condition_of(path, state))
        self.pane.start.show_model(name, is_demo=path == str(DEMO))
        self._show_thinking(state, path)

    def _show_thinking(self, state: EngineState, path: str) -> None:
        """Whether a model can think is known once it is loaded; until then all but the demo may."""
        is_known = state.facts is not None and state.model_path == path
        can = state.facts.can_think if is_known and state.facts else path != str(DEMO)
        by_default = self._workspace.settings.settings.thinking is not False
        self.pane.composer.set_thinking(available=can, by_default=by_default)

    # Building

    def _lay_out(self, menus: Menus) -> None:
        if bar := menus.attach(self):
            self.setMenuBar(bar)
        self.setUnifiedTitleAndToolBarOnMac(True)
        self.addToolBar(self.toolbar)
        self.setAcceptDrops(True)
        self.setWindowTitle(self.tr("New Chat"))
        self.setCentralWidget(_column((self.panels, 1), (self.status, 0)))
        self.setMinimumHeight(LEAST_HEIGHT)
        self.resize(*FIRST_SIZE)
        self._paint_ground()

    def _paint_ground(self) -> None:
        """The content lies on the colour of text fields, not of dialogs."""
        palette = self.palette()
        if palette.color(QPalette.ColorRole.Window) != color(Role.BASE):
            palette.setColor(QPalette.ColorRole.Window, color(Role.BASE))
            self.setPalette(palette)

    def _connect(self) -> None:
        library, engine = self._workspace.library, self._workspace.engine
        library.changed.connect(self._on_library)
        engine.state_changed.connect(self._on_engine)
        self._workspace.settings.changed.connect(self._on_settings)
        self.chat.conversation_changed.connect(self._on_conversation)
        self.chat.activity_changed.connect(self._on_activity)
        self.chat.failed.connect(self._on_failed)
        for signal in (self.chat.messages_reset, self.chat.branch_changed):
            signal.connect(lambda *_: self.commands_changed.emit())
        self.chat.message_changed.connect(lambda _: self.commands_changed.emit())
        self.sidebar.chosen.connect(self._show_chosen)
        self.sidebar.menu_opening.connect(self._chats.fill_row_menu)
        self.sidebar.left.connect(self.pane.focus_composer)
        self.pane.link_hovered.connect(self.status.show_link)
        self.panels.changed.connect(self.commands_changed)
        self.panels.sidebar_resized.connect(self.toolbar.follow_sidebar)
        self.toolbar.model.set_menu_filler(self.models.fill_menu)
        self.pane.start.models_wanted.connect(self.actions_by_name["show_models"].trigger)

    def _show_chosen(self, conversation_id: str, message_id: str | None) -> None:
        if self.chat.conversation is None or self.chat.conversation.id != conversation_id:
            self.chat.open(conversation_id)
        if message_id is not None:
            self.chat.reveal(message_id)

    # Events

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        event.acceptProposedAction()
        urls = event.mimeData().urls()
        self.take_files([Path(url.toLocalFile()) for url in urls if url.isLocalFile()])

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._paint_ground()
        elif event.type() == QEvent.Type.WindowStateChange:
            self.commands_changed.emit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.panels.align()

    def closeEvent(self, event: QCloseEvent) -> None:
        self.closing.emit()
        self.chat.close()
        super().closeEvent(event)
        self.deleteLater()


def _column(*parts: tuple[QWidget, int]) -> QWidget:
    """Widgets above each other, without gaps; each with its share of the room that is left."""
    whole = QWidget()
    column = QVBoxLayout(whole)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    for widget, share in parts:
        column.addWidget(widget, share)
    return whole
