"""Every command of the application: its words, shortcuts and role, menu by menu, in one table.

A command's name is that of the method that carries it out: on the front window, or on the
application for those that need no window. `menus` makes actions and menus of the table.
"""

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction, QKeySequence

translate = QCoreApplication.translate
Std = QKeySequence.StandardKey
Role = QAction.MenuRole
Keys = str | QKeySequence.StandardKey


@dataclass(frozen=True, slots=True)
class Command:
    """One command. Its role is NoRole unless given: Qt guesses from words and moves commands."""

    name: str
    text: str
    keys: tuple[Keys, ...] = ()
    role: QAction.MenuRole = Role.NoRole
    is_checkable: bool = False
    needs_window: bool = True


@dataclass(frozen=True, slots=True)
class MenuTable:
    """One menu; a separator stands between its groups."""

    name: str
    title: str
    groups: tuple[tuple[Command, ...], ...]


def menu_tables() -> tuple[MenuTable, ...]:
    """The menus from left to right. "Ctrl" is Command on a Mac, "Meta" is Control there."""
    return (_file(), _edit(), _view(), _chat(), _model(), _window(), _help())


def commands() -> tuple[Command, ...]:
    """Every command."""
    return tuple(c for table in menu_tables() for group in table.groups for c in group)


def _file() -> MenuTable:
    new = (
        Command("new_chat", translate("commands", "New Chat"), (Std.New,), needs_window=False),
        Command(
            "new_window", translate("commands", "New Window"), ("Ctrl+Alt+N",), needs_window=False
        ),
        Command("new_folder", translate("commands", "New Folder"), ("Ctrl+Shift+N",)),
    )
    close = (
        Command(
            "close_window", translate("commands", "Close Window"), (Std.Close,), needs_window=False
        ),
    )
    files = (
        Command("export_markdown", translate("commands", "Export as Markdown…"), ("Ctrl+Shift+E",)),
        Command("export_json", translate("commands", "Export as JSON…")),
        Command("export_all", translate("commands", "Export All Conversations…")),
        Command("import_chats", translate("commands", "Import Conversations…"), ("Ctrl+Shift+I",)),
    )
    deleted = (Command("show_deleted", translate("commands", "Recently Deleted…")),)
    end = (
        Command(
            "quit",
            translate("commands", "Quit Martlet"),
            (Std.Quit,),
            Role.QuitRole,
            needs_window=False,
        ),
    )
    return MenuTable("file", translate("commands", "File"), (new, close, files, deleted, end))


def _edit() -> MenuTable:
    history = (
        Command("undo", translate("commands", "Undo"), (Std.Undo,)),
        Command("redo", translate("commands", "Redo"), (Std.Redo,)),
    )
    clipboard = (
        Command("cut", translate("commands", "Cut"), (Std.Cut,)),
        Command("copy", translate("commands", "Copy"), (Std.Copy,)),
        Command("copy_plain", translate("commands", "Copy as Plain Text"), ("Ctrl+Alt+C",)),
        Command("paste", translate("commands", "Paste"), (Std.Paste,)),
        Command("select_all", translate("commands", "Select All"), (Std.SelectAll,)),
    )
    find = (
        Command("find", translate("commands", "Find in Conversation…"), (Std.Find,)),
        Command("find_next", translate("commands", "Find Next"), ("Ctrl+G",)),
        Command("find_previous", translate("commands", "Find Previous"), ("Ctrl+Shift+G",)),
        Command("find_selection", translate("commands", "Use Selection for Find"), ("Ctrl+E",)),
        Command(
            "search_chats", translate("commands", "Search All Conversations…"), ("Ctrl+Shift+F",)
        ),
    )
    settings = (
        Command(
            "show_settings",
            translate("commands", "Settings…"),
            ("Ctrl+,",),
            Role.PreferencesRole,
            needs_window=False,
        ),
    )
    return MenuTable("edit", translate("commands", "Edit"), (history, clipboard, find, settings))


def _view() -> MenuTable:
    panels = (
        Command(
            "toggle_sidebar", translate("commands", "Sidebar"), ("Meta+Ctrl+S",), is_checkable=True
        ),
        Command(
            "toggle_inspector",
            translate("commands", "Inspector"),
            ("Ctrl+Alt+I",),
            is_checkable=True,
        ),
    )
    text = (
        Command("bigger_text", translate("commands", "Bigger Text"), ("Ctrl++", "Ctrl+=")),
        Command("smaller_text", translate("commands", "Smaller Text"), ("Ctrl+-",)),
        Command("usual_text", translate("commands", "Actual Size"), ("Ctrl+0",)),
    )
    screen = (
        Command(
            "toggle_full_screen",
            translate("commands", "Full Screen"),
            (Std.FullScreen,),
            is_checkable=True,
        ),
    )
    return MenuTable("view", translate("commands", "View"), (panels, text, screen))


def _chat() -> MenuTable:
    answer = (
        Command("focus_composer", translate("commands", "Write a Message"), ("Ctrl+L",)),
        Command("attach_files", translate("commands", "Attach Files…"), ("Ctrl+Shift+A",)),
        Command("stop", translate("commands", "Stop Answering"), ("Ctrl+.", "Esc")),
        Command("regenerate", translate("commands", "Answer Again"), ("Ctrl+R",)),
        Command("continue_answer", translate("commands", "Continue Answer"), ("Ctrl+Shift+R",)),
        Command("copy_answer", translate("commands", "Copy Last Answer"), ("Ctrl+Shift+C",)),
    )
    chat = (
        Command("rename_chat", translate("commands", "Rename"), ("Ctrl+Shift+T",)),
        Command(
            "toggle_pinned", translate("commands", "Pinned"), ("Ctrl+Shift+P",), is_checkable=True
        ),
        Command("chat_settings", translate("commands", "Conversation Settings…"), ("Ctrl+Alt+,",)),
        # No shortcut: Command-Delete deletes while the list has the keyboard, never from a text.
        Command("delete_chat", translate("commands", "Delete Conversation")),
    )
    step = (
        Command("previous_chat", translate("commands", "Previous Conversation"), ("Ctrl+[",)),
        Command("next_chat", translate("commands", "Next Conversation"), ("Ctrl+]",)),
    )
    return MenuTable("chat", translate("commands", "Chat"), (answer, chat, step))


def _model() -> MenuTable:
    memory = (
        Command("load_model", translate("commands", "Load into Memory"), ("Ctrl+Alt+L",)),
        Command("unload_model", translate("commands", "Unload from Memory"), ("Ctrl+Alt+U",)),
        Command("restart_engine", translate("commands", "Restart Engine")),
    )
    choose = (
        Command(
            "show_models", translate("commands", "Models…"), ("Ctrl+Shift+M",), needs_window=False
        ),
        Command("open_model", translate("commands", "Open Model…"), (Std.Open,)),
    )
    return MenuTable("model", translate("commands", "Model"), (memory, choose))


def _window() -> MenuTable:
    sizes = (
        Command("minimize", translate("commands", "Minimize"), ("Ctrl+M",)),
        Command("zoom", translate("commands", "Zoom")),
    )
    front = (
        Command("bring_to_front", translate("commands", "Bring All to Front"), needs_window=False),
    )
    return MenuTable("window", translate("commands", "Window"), (sizes, front))


def _help() -> MenuTable:
    logs = (
        Command("show_diagnostics", translate("commands", "Diagnostics…"), needs_window=False),
        Command("reveal_logs", translate("commands", "Reveal Logs"), needs_window=False),
    )
    about = (
        Command(
            "show_about",
            translate("commands", "About Martlet"),
            role=Role.AboutRole,
            needs_window=False,
        ),
    )
    return MenuTable("help", translate("commands", "Help"), (logs, about))
