"""Actions and menus made of the table of commands; shared by all windows of the application.

On a Mac one parentless menu bar serves every window and stays when all are closed; elsewhere each
window shows a bar of its own with the same actions.
"""

import sys
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import zip_longest

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

from app.ui.commands.table import Command, MenuTable, menu_tables

PLACES = 9  # conversations that Command-1 to Command-9 go to


class Menus(QObject):
    """`run` is called with a command's name when its action is triggered."""

    def __init__(self, run: Callable[[str], object], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._run = run
        self.actions: dict[str, QAction] = {}
        self.menus: dict[str, QMenu] = {}
        self._needs_window: set[str] = set()
        self._windows: list[QAction] = []
        for table in menu_tables():
            self.menus[table.name] = self._menu(table)
        self.move_menu = self._submenu("chat", "delete_chat", self.tr("Move to Folder"))
        self.go_menu = self._submenu("chat", None, self.tr("Go to Conversation"))
        self.places = [self._place(number) for number in range(1, PLACES + 1)]
        self._shared_bar = self._bar(None) if sys.platform == "darwin" else None

    def attach(self, window: QWidget) -> QMenuBar | None:
        """Give a window the shortcuts; the menu bar that it must show itself, if any."""
        window.addActions([*self.actions.values(), *self.places])
        return None if self._shared_bar else self._bar(window)

    def show_available(self, available: Collection[str], checked: Collection[str]) -> None:
        """Enable the commands that make sense now, of those that need a window."""
        for name, action in self.actions.items():
            if name in self._needs_window:
                action.setEnabled(name in available)
            if action.isCheckable():
                action.setChecked(name in checked)

    def show_places(self, titles: Sequence[str]) -> None:
        """Name the conversations that Command-1 to Command-9 go to."""
        for action, title in zip_longest(self.places, titles[:PLACES]):
            action.setVisible(title is not None)
            action.setText((title or "").replace("&", "&&"))

    def show_windows(self, windows: Sequence[tuple[str, Callable[[], object]]]) -> None:
        """List the open windows, the front one first, at the end of the Window menu."""
        for action in self._windows:
            self.menus["window"].removeAction(action)
            action.deleteLater()
        separator = QAction(self)
        separator.setSeparator(True)
        self._windows = [separator, *(self._window_action(*window) for window in windows)]
        self.menus["window"].addActions(self._windows)

    def _window_action(self, title: str, show: Callable[[], object]) -> QAction:
        action = QAction(title.replace("&", "&&"), self)
        action.setMenuRole(QAction.MenuRole.NoRole)
        action.triggered.connect(lambda: show())
        return action

    def _bar(self, parent: QWidget | None) -> QMenuBar:
        bar = QMenuBar(parent)
        for menu in self.menus.values():
            bar.addMenu(menu)
        return bar

    def _menu(self, table: MenuTable) -> QMenu:
        menu = QMenu(table.title)
        menu.menuAction().setMenuRole(QAction.MenuRole.NoRole)
        for group in table.groups:
            if menu.actions():
                menu.addSeparator()
            menu.addActions([self._action(command) for command in group])
        return menu

    def _action(self, command: Command) -> QAction:
        action = QAction(command.text, self)
        action.setMenuRole(command.role)
        action.setShortcuts([QKeySequence(keys) for keys in command.keys])
        action.setCheckable(command.is_checkable)
        action.triggered.connect(partial(self._trigger, command.name))
        self.actions[command.name] = action
        if command.needs_window:
            self._needs_window.add(command.name)
        return action

    def _submenu(self, menu: str, before: str | None, title: str) -> QMenu:
        submenu = QMenu(title)
        submenu.menuAction().setMenuRole(QAction.MenuRole.NoRole)
        if before is None:
            self.menus[menu].addMenu(submenu)
        else:
            self.menus[menu].insertMenu(self.actions[before], submenu)
        return submenu

    def _place(self, number: int) -> QAction:
        action = QAction(self.tr("Conversation %1").replace("%1", str(number)), self)
        action.setMenuRole(QAction.MenuRole.NoRole)
        action.setShortcut(QKeySequence(f"Ctrl+{number}"))
        action.triggered.connect(partial(self._trigger, f"go_to_{number}"))
        self.go_menu.addAction(action)
        return action

    def _trigger(self, name: str) -> None:
        self._run(name)
