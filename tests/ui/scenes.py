"""Scenes for the pictures: widgets of the application in a state that is worth a look."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QSettings
from PySide6.QtWidgets import QApplication, QWidget

from app.blocks.typesetter import Typesetter
from app.conversation import Failure, Folder, Library, SearchHit, SearchResults
from app.crash import CrashReport
from app.engine_state import (
    EngineDeath,
    EngineStats,
    KernelReport,
    MemoryNote,
    ServingState,
    ShaderReport,
    StorageNote,
    ThermalState,
)
from app.installed_models import DEMO
from app.safe_start import Suspicion
from app.settings import Overrides, Preset, Sampling, Settings
from app.ui.chat_settings import ConversationSettings
from app.ui.crash_sheet import CrashSheet
from app.ui.deleted_sheet import DeletedSheet
from app.ui.diagnostics import DiagnosticsWindow
from app.ui.main_window import MainWindow
from app.ui.menus import Menus
from app.ui.settings.answering import AnsweringPage
from app.ui.settings.folders import FoldersPage
from app.ui.settings.general import GeneralPage
from app.ui.settings.memory import MemoryPage
from app.ui.settings.page import SettingsPage
from app.ui.settings.privacy import PrivacyPage
from app.ui.settings.server import ServerPage
from app.ui.settings.window import SettingsWindow
from app.ui.transcript import TranscriptView
from tests.ui.fake_chat import answer, user
from tests.ui.fakes import (
    GB,
    MODEL,
    FakeEngine,
    FakeLibrary,
    FakeSettings,
    FakeWorkspace,
    conversation,
    loaded_state,
    planned,
)
from tests.ui.scenes_models import SCENES as MODELS_SCENES
from tests.ui.scenes_models import token
from tests.ui.scenes_transcript import SCENES as TRANSCRIPT_SCENES
from tests.ui.scenes_transcript import SIEVE

BUSY_PORT = Failure(
    "NotServing",
    "127.0.0.1 port 8080 cannot be listened on: Address already in use.",
    "Choose another port, or end the program that uses it.",
)
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


def dispose(widget: QWidget) -> None:
    """Take a scene down, with the processes that it started."""
    for view in (widget, *widget.findChildren(TranscriptView)):
        if isinstance(view, TranscriptView):
            view.typesetter.close()
    widget.close()
    widget.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def main_window(workspace: FakeWorkspace) -> MainWindow:
    """A window on a library with something in it."""
    workspace.settings.update(model=MODEL)
    menus = Menus(lambda name: None)
    window = MainWindow(workspace.real, menus, Typesetter(), Path("/models"))
    window.kept = (workspace, menus)  # type: ignore[attr-defined]
    window.commands_changed.connect(
        lambda: menus.show_available(window.available(), window.checked())
    )
    workspace.library.become(LIBRARY)
    return window


def first_start() -> QWidget:
    """Nothing said yet, the demo model ready."""
    workspace = FakeWorkspace()
    window = main_window(workspace)
    workspace.library.become(Library())
    workspace.settings.update(model=str(DEMO))
    window.show_first("")
    return window


def empty() -> QWidget:
    """An empty conversation beside others."""
    window = main_window(FakeWorkspace())
    window.show_first("")
    return window


def at_work(text_size: int = 100, *, inspector: bool = True) -> QWidget:
    """An answer is being written; the one before is finished."""
    workspace = FakeWorkspace()
    workspace.settings.update(text_size=text_size)
    window = main_window(workspace)
    chat = workspace.chats[0]
    chat.branches["Sieve of Eratosthenes"] = [
        user(1, "Write a sieve of Eratosthenes in Python and tell me its cost."),
        answer(1, SIEVE, reasoning="A sieve.", reasoning_s=6.2, sibling_index=1, sibling_count=2),
        user(2, "And without keeping all of them in memory?"),
        answer(2, "", status="streaming", stats=None),
    ]
    window.chat.open("Sieve of Eratosthenes")
    window.panels.show_inspector(inspector, at_once=True)
    workspace.library.active_changed.emit(frozenset({"Sieve of Eratosthenes"}))
    for moment in range(90):
        workspace.engine.become(**_moment(moment))
    chat.become(phase="answering", message_id="a2")
    chat.grow("a2", "Sieve in windows of the size of your cache. Keep the primes up to √n, and for")
    chat.count(1204)
    return window


def engine_died() -> QWidget:
    """The engine ended in the middle of an answer; a conversation was deleted, too."""
    workspace = FakeWorkspace()
    window = main_window(workspace)
    death = EngineDeath(
        "The engine was ended by the system, most likely to free memory.",
        "What was written so far is kept.",
        1,
        False,
        "",
    )
    failure = Failure("EngineDied", death.message, "Press Continue to go on from here.")
    workspace.chats[0].branches["Dinner for six, one oven"] = [
        user(1, "Plan dinner for six with one oven."),
        answer(
            1,
            "What needs the oven longest comes first.\n\n1. **Roast vegetables**, 45 minutes",
            status="interrupted",
            error=failure,
            stats=None,
        ),
    ]
    window.chat.open("Dinner for six, one oven")
    workspace.engine.become(death=death)
    workspace.library.delete(["Naming a sailing boat"])
    return window


def waiting(paused: str, thermal: ThermalState) -> QWidget:
    """The answer stands still."""
    window = at_work(inspector=False)
    workspace: FakeWorkspace = window.kept[0]  # type: ignore[attr-defined]
    stats = workspace.engine.state.stats
    assert stats is not None
    workspace.engine.become(
        stats=replace(stats, paused=paused, thermal=thermal, pressure="critical"),
        pressure="warning" if thermal == "critical" else "critical",
    )
    return window


def hot() -> QWidget:
    """The machine is hot, and memory was short a moment ago."""
    window = waiting("", "serious")
    workspace: FakeWorkspace = window.kept[0]  # type: ignore[attr-defined]
    words = "Memory is short: expert pool 4.0 → 1.5 GB; answers slower until it recovers."
    plan = workspace.engine.state.plan
    assert plan is not None
    workspace.engine.memory_changed.emit(MemoryNote("critical", words, plan))
    return window


def disk_gone() -> QWidget:
    """The disk of the model went in the middle of an answer, and is there again."""
    workspace = FakeWorkspace()
    window = main_window(workspace)
    failure = Failure(
        "ReadFailed",
        "Expert 17 of layer 4 could not be read from"
        " /Volumes/T7/Qwen3.6.qpack/packed_experts/layer_04.bin: Input/output error.",
        "Check that the disk is connected; if it is, verify the model or download it again.",
    )
    workspace.chats[0].branches["Three days in Kyoto"] = [
        user(1, "Plan three days in Kyoto, on foot."),
        answer(1, "**Day one.** Begin in the east", status="failed", error=failure, stats=None),
    ]
    window.chat.open("Three days in Kyoto")
    workspace.engine.become(**_moment(40) | {"answering": None})
    words = "The model's files can be read again."
    workspace.engine.storage_changed.emit(StorageNote(True, words))
    return window


def finding() -> QWidget:
    """Looking for words in a conversation."""
    window = at_work(inspector=False)
    window.pane.open_find()  # type: ignore[attr-defined]
    window.pane.find_bar.field.setText("prime")  # type: ignore[attr-defined]
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


def diagnostics() -> QWidget:
    """A Mac where one group of shaders failed its proof."""
    engine, settings = FakeEngine(), FakeSettings()
    shaders = (
        ShaderReport("moe", True),
        ShaderReport("delta_net", True),
        ShaderReport("attention", True),
        ShaderReport("router", False, "It differs from the formula by 0.31, more than 0.02."),
        ShaderReport("sampler", True),
    )
    engine.state = loaded_state(kernels=KernelReport("metal", "gpu", "bfloat16", shaders))
    window = DiagnosticsWindow(engine, settings)  # type: ignore[arg-type]
    window.kept = (engine, settings)  # type: ignore[attr-defined]
    return window


def went_down() -> QWidget:
    """The computer crashed with a model in memory."""
    workspace = FakeWorkspace()
    workspace.safe_start.suspicion = Suspicion(MODEL, True, int(2.5 * GB))
    window = main_window(workspace)
    window.show_first("")
    return window


def deleted() -> QWidget:
    """Recently Deleted."""
    library = FakeLibrary()
    sheet = DeletedSheet(library)  # type: ignore[arg-type]
    sheet.library_kept = library  # type: ignore[attr-defined]
    library.deleted_listed.emit(
        tuple(replace(c, deleted_at=c.updated_at) for c in LIBRARY.conversations[:4])
    )
    sheet._list.set_current("Dinner for six, one oven")
    return sheet


def own_settings() -> QWidget:
    """What one conversation does differently."""
    workspace = FakeWorkspace()
    workspace.library.become(LIBRARY)
    chat = workspace.new_chat()
    chat.open("Dinner for six, one oven")
    chat.set_overrides(Overrides(sampling=Sampling(temperature=0.7), thinking=False))
    settings = Settings(presets=(Preset("Precise"),))
    sheet = ConversationSettings(chat, settings)
    sheet.workspace_kept = workspace  # type: ignore[attr-defined]
    return sheet


def settings_window() -> QWidget:
    """The window itself, with its toolbar."""
    workspace = FakeWorkspace()
    pages = (
        GeneralPage(workspace.settings),  # type: ignore[arg-type]
        MemoryPage(workspace.settings, workspace.engine, Path("/models")),  # type: ignore[arg-type]
        AnsweringPage(workspace.settings),  # type: ignore[arg-type]
        server_page(workspace),
        PrivacyPage(),
        FoldersPage(workspace.settings, Path("/Users/ada/Martlet"), Path("/Users/ada/Logs")),  # type: ignore[arg-type]
    )
    window = SettingsWindow(pages, QSettings())
    window.workspace_kept = workspace  # type: ignore[attr-defined]
    window.show_page(0)
    return window


def _moment(moment: int) -> dict[str, object]:
    state = loaded_state()
    grown = min(1.0, 0.55 + moment / 100)
    hits = 0.30 + 0.42 * (1 - math.exp(-moment / 25))
    token = 110 - 25 * (1 - math.exp(-moment / 20)) + 6 * math.sin(moment * 2.1)
    stats = EngineStats(int(2.6 * GB * grown), hits, 2.9 * GB, token, token * (0.75 - hits))
    fields = ("process", "pid", "model", "model_path", "facts", "plan")
    known = {name: getattr(state, name) for name in fields}
    return known | {"answering": "m1", "stats": stats}


def server_page(
    workspace: FakeWorkspace, *, on: bool = False, keyed: bool = False, busy: bool = False
) -> SettingsPage:
    """The local server: off, listening with a key, or kept from it by another program."""
    state = ServingState("http://127.0.0.1:8080/v1", answering=True, waiting=2)
    if busy:
        state = ServingState(failure=BUSY_PORT)
    workspace.server.start()
    workspace.server.ask_key(keyed)
    workspace.server.switch(on)
    if on:
        workspace.engine.become(serving=state)
    return ServerPage(workspace.settings, workspace.engine, workspace.server)  # type: ignore[arg-type]


def serving() -> QWidget:
    """Another program is being answered."""
    workspace = FakeWorkspace()
    window = main_window(workspace)
    window.show_first("")
    listening = ServingState("http://127.0.0.1:8080/v1", answering=True)
    workspace.engine.state = loaded_state()
    workspace.engine.become(serving=listening)
    return window


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
        workspace.engine.planned.emit(planned(memory_bytes=3 * GB))
        return made

    return page


def refused() -> QWidget:
    """Nothing is loaded, and what was chosen does not fit."""
    workspace = FakeWorkspace()
    workspace.settings.update(model=MODEL, memory_bytes=5 * GB)
    page = MemoryPage(workspace.settings, workspace.engine, Path("/models"))  # type: ignore[arg-type]
    page.workspace_kept = workspace  # type: ignore[attr-defined]
    plan = planned(memory_bytes=5 * GB, free_bytes=int(2.6 * GB))
    assert plan.ledger is not None
    larger = replace(plan.ledger, expert_bytes=int(2.9 * GB), slots_per_layer=225)
    message = "This plan takes 5.0 GB of memory; 2.6 GB are free."
    remedy = "Allow at most 2.6 GB for it, or close other apps."
    workspace.engine.planned.emit(replace(plan, ledger=larger, message=message, remedy=remedy))
    return page


PAGE = (680, 480)
TALL_PAGE = (680, 600)
SHORT = "Memory is critically short, so the answer waits. Close other apps, or continue."
HOT = "The machine is too hot, so the answer waits. It goes on when it has cooled."

SCENES: list[Scene] = [
    Scene("first-start", first_start),
    Scene("first-start-narrow", first_start, NARROW),
    Scene("empty", empty),
    Scene("at-work", at_work),
    Scene("at-work-narrow", partial(at_work, inspector=False), NARROW),
    Scene("at-work-200", partial(at_work, 200)),
    Scene("at-work-200-narrow", partial(at_work, 200, inspector=False), NARROW),
    Scene("finding", finding),
    Scene("waiting-memory", partial(waiting, SHORT, "nominal")),
    Scene("waiting-memory-narrow", partial(waiting, SHORT, "nominal"), NARROW),
    Scene("waiting-heat", partial(waiting, HOT, "critical")),
    Scene("hot", hot),
    Scene("disk-gone", disk_gone),
    Scene("engine-died", engine_died),
    Scene("engine-died-narrow", engine_died, NARROW),
    Scene("searching", searching),
    Scene("crash", crash, (600, 400)),
    Scene("diagnostics", diagnostics, (560, 660)),
    Scene("went-down", went_down),
    Scene("deleted", deleted, (480, 400)),
    Scene("conversation-settings", own_settings, (560, 620)),
    Scene("settings-window", settings_window, (680, 480)),
    Scene("settings-general", _page(lambda w: GeneralPage(w.settings)), PAGE),  # type: ignore[arg-type]
    Scene(
        "settings-memory",
        _page(lambda w: MemoryPage(w.settings, w.engine, Path("/models"))),  # type: ignore[arg-type]
        TALL_PAGE,
    ),
    Scene("settings-memory-refused", refused, TALL_PAGE),
    Scene("settings-answering", _page(lambda w: AnsweringPage(w.settings)), (680, 640)),  # type: ignore[arg-type]
    Scene("settings-server-off", _page(server_page), (680, 640)),
    Scene("settings-server-keyed", _page(partial(server_page, on=True, keyed=True)), (680, 640)),
    Scene("settings-server-busy", _page(partial(server_page, on=True, busy=True)), (680, 640)),
    Scene("serving", serving),
    Scene("serving-narrow", serving, NARROW),
    Scene("settings-privacy", _page(lambda w: PrivacyPage()), PAGE),
    Scene(
        "settings-folders",
        _page(
            lambda w: FoldersPage(w.settings, Path("/Users/ada/Martlet"), Path("/Users/ada/Logs"))  # type: ignore[arg-type]
        ),
        PAGE,
    ),
]
SCENES += [Scene(name, make, (900, 760)) for name, make in TRANSCRIPT_SCENES.items()]
SCENES += [Scene(name, make, (940, 780)) for name, make in MODELS_SCENES.items()]
SCENES += [Scene("models-narrow", MODELS_SCENES["models"], (620, 640))]
SCENES += [Scene("models-token", token, (440, 160))]
