"""Scenes for the pictures: widgets of the application in a state that is worth a look."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.blocks.typesetter import Typesetter
from app.conversation import Folder, Library, SearchHit, SearchResults
from app.crash import CrashReport
from app.engine_state import EngineDeath, EngineStats
from app.installed_models import DEMO
from app.settings import Preset
from app.ui.crash_sheet import CrashSheet
from app.ui.main_window import MainWindow
from app.ui.menus import Menus
from app.ui.settings.answering import AnsweringPage
from app.ui.settings.folders import FoldersPage
from app.ui.settings.general import GeneralPage
from app.ui.settings.memory import MemoryPage
from app.ui.settings.page import SettingsPage
from app.ui.settings.privacy import PrivacyPage
from tests.ui.fakes import GB, FakeWorkspace, conversation, loaded_state

HOUR, DAY = 3600.0, 86_400.0
WIDE, NARROW = (1240, 800), (620, 640)


@dataclass(frozen=True, slots=True)
class Scene:
    """A named widget at a size."""

    name: str
    make: Callable[[], QWidget]
    size: tuple[int, int] = WIDE


LIBRARY = Library(
    (Folder("work", "Work", 0),),
    (
        conversation("Thesis: outline and sources", 2 * DAY, pinned=True),
        conversation("Sieve of Eratosthenes", 60),
        conversation("Dinner for six, one oven", 0.2 * HOUR),
        conversation("Three days in Kyoto", 0.5 * HOUR),
        conversation("Quarterly figures, explained slowly for everyone", 3 * DAY, folder_id="work"),
        conversation("Letter to the landlord", DAY),
        conversation("Why is the sky dark at night?", DAY + 60),
        conversation("SQL: running totals", 4 * DAY),
        conversation("Naming a sailing boat", 5 * DAY),
        conversation("Fractions for a nine-year-old", 6 * DAY),
        conversation("Vokabeln für Montag", 20 * DAY),
    ),
)


def main_window(workspace: FakeWorkspace) -> MainWindow:
    """A window on a library with something in it."""
    workspace.settings.update(model="/models/Qwen3.6-35B-A3B-4bit.qpack")
    window = MainWindow(workspace.real, Menus(lambda name: None), Typesetter(), Path("/models"))
    window.workspace_kept = workspace  # type: ignore[attr-defined]
    workspace.library.become(LIBRARY)
    return window


def first_start() -> QWidget:
    """Nothing said yet, the demo model ready."""
    workspace = FakeWorkspace()
    workspace.settings.update(model=str(DEMO))
    window = MainWindow(workspace.real, Menus(lambda name: None), Typesetter(), Path("/models"))
    window.workspace_kept = workspace  # type: ignore[attr-defined]
    window.show_first("")
    return window


def at_work() -> QWidget:
    """An answer is being written, the inspector is open."""
    workspace = FakeWorkspace()
    window = main_window(workspace)
    window.chat.open("Sieve of Eratosthenes")
    window.show_inspector(True, at_once=True)
    workspace.library.active_changed.emit(frozenset({"Sieve of Eratosthenes"}))
    for moment in range(90):
        workspace.engine.become(**_moment(moment))
    return window


def engine_died() -> QWidget:
    """The engine ended; a conversation was deleted, too."""
    workspace = FakeWorkspace()
    window = main_window(workspace)
    window.chat.open("Dinner for six, one oven")
    death = EngineDeath(
        "The engine stopped: it ran out of graphics memory.",
        "What was written so far is kept.",
        1,
        False,
        "",
    )
    workspace.engine.become(death=death)
    workspace.library.delete(["Naming a sailing boat"])
    return window


def searching() -> QWidget:
    """The sidebar shows what a search found."""
    workspace = FakeWorkspace()
    window = main_window(workspace)
    window.chat.open("Dinner for six, one oven")
    window.sidebar.search.setText("oven")
    hits = (
        SearchHit(
            "a", "Dinner for six, one oven", None, "", (), LIBRARY.conversations[2].updated_at
        ),
        SearchHit(
            "a", "Dinner for six, one oven", "m", "…and put it in the oven at 180", ((18, 4),), 0
        ),
        SearchHit(
            "b", "Fractions for a nine-year-old", "m", "a cake in the oven is a", ((14, 4),), 0
        ),
    )
    workspace.library.search_finished.emit(SearchResults("oven", hits))
    return window


def crash() -> QWidget:
    """A fault of our own."""
    trace = 'Traceback (most recent call last):\n  File "app/x.py", line 3\nKeyError: 3'
    return CrashSheet(CrashReport("KeyError: 3", f"Martlet 1.0\nmacOS 15.1, arm64\n\n{trace}\n"))


def _moment(moment: int) -> dict[str, object]:
    state = loaded_state()
    grown = min(1.0, 0.55 + moment / 100)
    hits = 0.30 + 0.42 * (1 - math.exp(-moment / 25))
    token = 110 - 25 * (1 - math.exp(-moment / 20)) + 6 * math.sin(moment * 2.1)
    stats = EngineStats(int(2.6 * GB * grown), hits, 2.9 * GB, token, token * (0.75 - hits))
    fields = ("process", "pid", "model", "model_path", "facts", "plan")
    known = {name: getattr(state, name) for name in fields}
    return known | {"answering": "m1", "stats": stats}


def _page(make: Callable[[FakeWorkspace], SettingsPage]) -> Callable[[], QWidget]:
    def page() -> QWidget:
        workspace = FakeWorkspace()
        workspace.settings.update(
            model="/models/Qwen3.6-35B-A3B-4bit.qpack",
            memory_bytes=3 * GB,
            model_folders=("/Volumes/Samsung T7/models",),
            presets=(Preset("Precise"), Preset("Playful")),
        )
        workspace.engine.state = loaded_state()
        made = make(workspace)
        made.workspace_kept = workspace  # type: ignore[attr-defined]
        return made

    return page


PAGE = (680, 480)

SCENES: list[Scene] = [
    Scene("first-start", first_start),
    Scene("first-start-narrow", first_start, NARROW),
    Scene("at-work", at_work),
    Scene("engine-died", engine_died),
    Scene("engine-died-narrow", engine_died, NARROW),
    Scene("searching", searching),
    Scene("crash", crash, (600, 400)),
    Scene("settings-general", _page(lambda w: GeneralPage(w.settings)), PAGE),  # type: ignore[arg-type]
    Scene(
        "settings-memory",
        _page(lambda w: MemoryPage(w.settings, w.engine, Path("/models"))),  # type: ignore[arg-type]
        PAGE,
    ),
    Scene("settings-answering", _page(lambda w: AnsweringPage(w.settings)), (680, 640)),  # type: ignore[arg-type]
    Scene("settings-privacy", _page(lambda w: PrivacyPage()), PAGE),
    Scene(
        "settings-folders",
        _page(
            lambda w: FoldersPage(w.settings, Path("/Users/ada/Martlet"), Path("/Users/ada/Logs"))  # type: ignore[arg-type]
        ),
        PAGE,
    ),
]
