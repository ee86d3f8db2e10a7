"""Menus: every command is there, does something, has its role, and no key is taken twice."""

from collections import Counter

import pytest
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow
from pytestqt.qtbot import QtBot

from app.ui.commands.table import commands, menu_tables
from app.ui.menus import PLACES, Menus

ROLES = {
    "quit": QAction.MenuRole.QuitRole,
    "show_settings": QAction.MenuRole.PreferencesRole,
    "show_about": QAction.MenuRole.AboutRole,
}


@pytest.fixture
def menus(qtbot: QtBot) -> Menus:
    return Menus(lambda name: None)


def everything(menus: Menus) -> list[QAction]:
    """Every action of every menu and submenu."""
    found: list[QAction] = []
    waiting = list(menus.menus.values())
    while waiting:
        menu = waiting.pop()
        found.append(menu.menuAction())
        for action in menu.actions():
            submenu = action.menu()
            if submenu is not None:
                waiting.append(submenu)
            elif not action.isSeparator():
                found.append(action)
    return found


def test_order_of_menus(qtbot: QtBot) -> None:
    names = [table.name for table in menu_tables()]
    assert names == ["file", "edit", "view", "chat", "model", "window", "help"]


def test_three_commands_have_roles_and_all_else_has_none(menus: Menus) -> None:
    menus.show_places(["One", "Two"])
    menus.show_windows([("A window", lambda: None)])
    with_role = {action: role for name, role in ROLES.items() for action in [menus.actions[name]]}
    for action in everything(menus):
        expected = with_role.get(action, QAction.MenuRole.NoRole)
        assert action.menuRole() == expected, action.text()


def test_no_key_is_taken_twice(menus: Menus) -> None:
    actions = [*menus.actions.values(), *menus.places]
    keys = Counter(
        keys.toString() for action in actions for keys in set(action.shortcuts()) if keys.toString()
    )
    assert [text for text, count in keys.items() if count > 1] == []


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("new_chat", QKeySequence.StandardKey.New),
        ("close_window", QKeySequence.StandardKey.Close),
        ("quit", QKeySequence.StandardKey.Quit),
        ("undo", QKeySequence.StandardKey.Undo),
        ("copy", QKeySequence.StandardKey.Copy),
        ("paste", QKeySequence.StandardKey.Paste),
        ("select_all", QKeySequence.StandardKey.SelectAll),
        ("find", QKeySequence.StandardKey.Find),
        ("show_settings", QKeySequence("Ctrl+,")),
        ("find_next", QKeySequence("Ctrl+G")),
        ("find_selection", QKeySequence("Ctrl+E")),
        ("previous_chat", QKeySequence("Ctrl+[")),
        ("next_chat", QKeySequence("Ctrl+]")),
        ("stop", QKeySequence("Ctrl+.")),
        ("stop", QKeySequence("Esc")),
        ("bigger_text", QKeySequence("Ctrl++")),
        ("smaller_text", QKeySequence("Ctrl+-")),
        ("usual_text", QKeySequence("Ctrl+0")),
        ("minimize", QKeySequence("Ctrl+M")),
        ("toggle_sidebar", QKeySequence("Meta+Ctrl+S")),
    ],
)
def test_standard_keys(menus: Menus, name: str, keys: QKeySequence) -> None:
    wanted = QKeySequence(keys)
    assert any(
        wanted.matches(k) == QKeySequence.SequenceMatch.ExactMatch
        for k in menus.actions[name].shortcuts()
    )


def test_every_command_has_a_key_or_is_rare(menus: Menus) -> None:
    """Those without one are in the menus alone, on purpose."""
    without = {name for name, action in menus.actions.items() if not action.shortcuts()}
    assert without == {
        "export_json",
        "export_all",
        "show_deleted",
        "delete_chat",
        "restart_engine",
        "zoom",
        "bring_to_front",
        "show_diagnostics",
        "reveal_logs",
        "show_about",
    }


def test_an_action_runs_its_command(qtbot: QtBot) -> None:
    ran: list[str] = []
    menus = Menus(ran.append)
    menus.actions["new_chat"].trigger()
    menus.places[2].trigger()
    assert ran == ["new_chat", "go_to_3"]


def test_commands_that_need_a_window_are_disabled_without_one(menus: Menus) -> None:
    menus.show_available((), ())
    enabled = {name for name, action in menus.actions.items() if action.isEnabled()}
    assert enabled == {command.name for command in commands() if not command.needs_window}


def test_windows_share_actions_and_have_bars_of_their_own(qtbot: QtBot, menus: Menus) -> None:
    windows = [QMainWindow(), QMainWindow()]
    for window in windows:
        qtbot.addWidget(window)
        assert menus.attach(window) is not None
        assert set(menus.actions.values()) <= set(window.actions())


def test_places_are_named_after_conversations(menus: Menus) -> None:
    menus.show_places(["Salt & Pepper", "Two"])
    visible = [action for action in menus.places if action.isVisible()]
    assert [action.text() for action in visible] == ["Salt && Pepper", "Two"]
    assert len(menus.places) == PLACES


def test_open_windows_are_listed_once(menus: Menus) -> None:
    shown: list[str] = []
    before = len(menus.menus["window"].actions())
    for _ in range(2):
        menus.show_windows([("One", lambda: shown.append("one"))])
    assert len(menus.menus["window"].actions()) == before + 2
    menus.menus["window"].actions()[-1].trigger()
    assert shown == ["one"]
