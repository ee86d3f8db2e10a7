"""Application: the windows, the menus they share, and the commands that need no window.

What is rarely shown (Settings, Models, diagnostics, the report of a fault) is imported when it is
first wanted: the window that one starts with comes sooner.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSettings, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication, QMessageBox, QWidget

from app import __version__, paths
from app.blocks.typesetter import Typesetter
from app.conversation import Failure
from app.crash import make_report
from app.settings import Appearance, Settings
from app.ui import sheets, theme
from app.ui.appearance import apply_appearance
from app.ui.attention import Attention
from app.ui.commands.table import commands
from app.ui.main_window import MainWindow
from app.ui.menus import PLACES, Menus
from app.ui.window_state import restore_window, save_windows, window_count
from app.workspace import Workspace

if TYPE_CHECKING:
    from app.ui.crash_sheet import CrashSheet
    from app.ui.diagnostics import DiagnosticsWindow
    from app.ui.models_window.window import ModelsWindow
    from app.ui.settings.window import SettingsWindow


class Application(QObject):
    """Everything on the screen. Made after the workspace, closed before it.

    Signals: see the comment of each.
    """

    # str: the traceback of a fault of our own, from any thread
    fault = Signal(str)

    def __init__(self, workspace: Workspace, data: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        qt = QApplication.instance()
        assert isinstance(qt, QApplication), "widgets need an application"
        self._qt = qt
        self._workspace = workspace
        self._data = data
        self._state = QSettings(str(paths.window_file(data)), QSettings.Format.IniFormat)
        self._typesetter = Typesetter(self)  # one process colours the code of all windows
        self._windows: list[MainWindow] = []  # the front one first
        self._settings_window: SettingsWindow | None = None
        self._models_window: ModelsWindow | None = None
        self._diagnostics: DiagnosticsWindow | None = None
        self._crash_sheet: CrashSheet | None = None
        self._appearance: Appearance | None = None  # as it was applied last
        own = (command.name for command in commands() if not command.needs_window)
        self._own: dict[str, Callable[[], None]] = {name: getattr(self, name) for name in own}
        self.menus = Menus(self.run, self)
        # Several changes in one turn of the event loop enable and disable once.
        self._refresh = QTimer(self, singleShot=True, interval=0)
        self._closing = QTimer(self, singleShot=True, interval=0)
        self._attention = Attention(qt, workspace, self)
        self._attention.models_wanted.connect(self.show_models)
        self._connect()
        self._on_settings(workspace.settings.settings)

    @property
    def windows(self) -> tuple[MainWindow, ...]:
        """The open windows, the front one first."""
        return tuple(self._windows)

    def start(self) -> None:
        """Show the windows of the last time, or a first one; the model comes when it is wanted."""
        for place in reversed(range(window_count(self._state))):
            window = self._new_window()
            restore_window(self._state, place, window)
            window.show()
        self._workspace.library.refresh()
        if self._workspace.settings.notice is not None:
            self._on_failure(self._workspace.settings.notice)
        QTimer.singleShot(0, self._load_model)
        QTimer.singleShot(0, self._workspace.server.start)

    def close(self) -> None:
        """Keep the windows' state and close them."""
        for extra in self._extras():
            extra.close()
        for window in self.windows:
            window.close()
        self._typesetter.close()

    def save_state(self) -> None:
        """Keep where the windows are and what they show; of the last one, when it is closed."""
        if self._windows:
            save_windows(self._state, self._windows)

    def run(self, name: str) -> None:
        """Carry out a command: ours, or one of the front window's."""
        if name in self._own:
            self._own[name]()
        elif self._windows and (act := self._windows[0].command(name)):
            act()

    # Commands that need no window

    def new_chat(self) -> None:
        """An empty conversation, in the front window or a new one."""
        if not self._windows:
            self.new_window()
            return
        self._windows[0].chat.open_new()
        self._windows[0].pane.focus_composer()

    def new_window(self, conversation_id: str = "") -> None:
        """Another window."""
        front = self._windows[0] if self._windows else None
        window = self._new_window()
        if front is not None:
            window.resize(front.size())
        window.show_first(conversation_id)
        window.show()
        self._raise(window)

    def show_settings(self) -> None:
        """The Settings window."""
        from app.ui.settings.pages import settings_window

        if self._settings_window is None:
            self._settings_window = settings_window(self._workspace, self._data, self._state)
        self._settings_window.show()
        self._raise(self._settings_window)

    def show_models(self) -> None:
        """The Models window."""
        from app.ui.models_window.window import ModelsWindow

        if self._models_window is None:
            models = ModelsWindow(self._workspace, paths.models_folder(self._data))
            models.chosen.connect(self._use_model)
            self._models_window = models
        self._models_window.show()
        self._raise(self._models_window)

    def show_diagnostics(self) -> None:
        """What this computer is to Martlet, and what computes."""
        from app.ui.diagnostics import DiagnosticsWindow

        if self._diagnostics is None:
            self._diagnostics = DiagnosticsWindow(self._workspace.engine, self._workspace.settings)
            self._diagnostics.logs_wanted.connect(self.reveal_logs)
        self._diagnostics.show()
        self._raise(self._diagnostics)

    def reveal_logs(self) -> None:
        """The folder of log files."""
        from app.ui.settings.folders import reveal

        reveal(paths.log_folder())

    def bring_to_front(self) -> None:
        """All windows."""
        for window in reversed(self.windows):
            window.raise_()

    def close_window(self) -> None:
        """Whichever window is in front, Settings too."""
        window = QApplication.activeWindow() or (self._windows[0] if self._windows else None)
        if window is not None:
            window.close()

    def show_about(self) -> None:
        """Name, version, and what it is."""
        sheet = QMessageBox(self._windows[0] if self._windows else None)
        sheet.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        sheet.setIconPixmap(theme.application_icon().pixmap(64, 64))
        sheet.setText(f"Martlet {__version__}")
        sheet.setInformativeText(
            self.tr("Large models on small machines: experts stream from the disk.")
        )
        sheet.open()

    def quit(self) -> None:
        """Save, stop, end. Nothing can be lost; of downloads it is said that they will go on."""
        count = self._workspace.downloads.at_work
        parent = QApplication.activeWindow() or (self._windows[0] if self._windows else None)
        if count and parent is not None:
            said = self.tr("%n download(s) will resume next time.", "", count)
            sheets.confirm(parent, said, self.tr("Quit"), QApplication.quit)
        else:
            QApplication.quit()

    def summon(self, files: Sequence[str] = ()) -> None:
        """Come to the front, with a window, and take the files to where one writes."""
        if self._windows:
            self._raise(self._windows[0])
        else:
            self.new_window()
        if files:
            self._windows[0].take_files([Path(file) for file in files])

    def _use_model(self, path: str) -> None:
        if self._windows:
            self._windows[0].models.choose(path)
        else:
            self._workspace.settings.update(model=path)

    def _load_model(self) -> None:
        """Only if the person asked for it: a model may be most of what the machine can hold.

        Not after the computer went down with one in memory: then the person is asked.
        """
        settings = self._workspace.settings.settings
        is_safe = self._workspace.safe_start.suspicion is None
        if settings.load_at_start and settings.model and is_safe:
            self._workspace.engine.load(settings.model, settings.memory_bytes)

    # Windows

    def _new_window(self) -> MainWindow:
        window = MainWindow(
            self._workspace, self.menus, self._typesetter, paths.models_folder(self._data)
        )
        window.commands_changed.connect(self._refresh.start)
        window.new_window_wanted.connect(self.new_window)
        window.closing.connect(lambda: self._on_closing(window))
        self._windows.insert(0, window)
        self._refresh.start()
        return window

    def _on_closing(self, window: MainWindow) -> None:
        """Quitting closes all windows in one turn of the event loop: all of them will return."""
        if not self._closing.isActive():
            self.save_state()
            self._closing.start()
        self._windows.remove(window)
        self._refresh.start()
        if not self._windows and self._qt.quitOnLastWindowClosed():
            for extra in self._extras():
                extra.close()  # they alone do not keep the application

    def _extras(self) -> Iterator[QWidget]:
        """The windows that are not conversations'."""
        for extra in (self._settings_window, self._models_window, self._diagnostics):
            if extra is not None:
                yield extra

    def _raise(self, window: QWidget) -> None:
        window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
        window.raise_()
        window.activateWindow()
        self._bring_forward(window)

    def _on_focus(self, _old: QWidget | None, new: QWidget | None) -> None:
        if new is not None:
            self._bring_forward(new.window())
        self._refresh.start()

    def _bring_forward(self, window: QWidget) -> None:
        for known in self._windows:
            if known is window:
                self._windows.remove(known)
                self._windows.insert(0, known)
                break

    def _on_state(self, state: Qt.ApplicationState) -> None:
        """A click in the Dock opens a window where there is none."""
        is_active = state == Qt.ApplicationState.ApplicationActive
        if is_active and sys.platform == "darwin" and not self._windows:
            self.new_window()

    # Menus

    def _show_commands(self) -> None:
        front = self._windows[0] if self._windows else None
        available = front.available() if front is not None else frozenset[str]()
        checked = front.checked() if front is not None else frozenset[str]()
        self.menus.show_available(available, checked)

    def _fill_go_menu(self) -> None:
        titles = self._windows[0].sidebar.first_titles(PLACES) if self._windows else []
        self.menus.show_places(titles)

    def _fill_move_menu(self) -> None:
        self.menus.move_menu.clear()
        if self._windows:
            self._windows[0].fill_move_menu()

    def _fill_window_menu(self) -> None:
        self.menus.show_windows([(w.windowTitle(), partial(self._raise, w)) for w in self._windows])

    # What others tell

    def _on_settings(self, settings: Settings) -> None:
        if settings.appearance != self._appearance:
            self._appearance = settings.appearance
            apply_appearance(settings.appearance)

    def _on_failure(self, failure: Failure) -> None:
        if self._windows:
            self._windows[0].notices.show_failure(failure)

    def _on_fault(self, trace: str) -> None:
        from app.ui.crash_sheet import CrashSheet

        report = make_report(trace, paths.log_folder())
        if self._crash_sheet is not None:
            self._crash_sheet.add(report)
            return
        sheet = CrashSheet(report, self._windows[0] if self._windows else None)
        sheet.logs_wanted.connect(self.reveal_logs)
        sheet.destroyed.connect(self._on_crash_read)
        self._crash_sheet = sheet
        sheet.open()

    def _on_crash_read(self) -> None:
        self._crash_sheet = None

    def _connect(self) -> None:
        queued = Qt.ConnectionType.QueuedConnection  # never inside the fault's own frames
        self.fault.connect(self._on_fault, queued)
        self._workspace.engine.bug_found.connect(self._on_fault)
        self._workspace.store.bug_found.connect(self._on_fault)
        self._workspace.downloads.bug_found.connect(self._on_fault)
        self._workspace.store.failed.connect(self._on_failure)
        self._workspace.engine.failed.connect(self._on_failure)
        self._workspace.settings.changed.connect(self._on_settings)
        self._workspace.settings.failed.connect(self._on_failure)
        self._refresh.timeout.connect(self._show_commands)
        self._closing.timeout.connect(self.save_state)
        self.menus.go_menu.aboutToShow.connect(self._fill_go_menu)
        self.menus.move_menu.aboutToShow.connect(self._fill_move_menu)
        self.menus.menus["window"].aboutToShow.connect(self._fill_window_menu)
        self._qt.focusChanged.connect(self._on_focus)
        self._qt.applicationStateChanged.connect(self._on_state)
