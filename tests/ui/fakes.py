"""Controllers without store and engine: they remember what was asked and tell what a test says.

They have the signals and methods of the real ones; `Calls` notes every method that only asks.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from PySide6.QtCore import QObject, Signal

from app.conversation import (
    Activity,
    Conversation,
    Deletion,
    Failure,
    Folder,
    Library,
    Message,
    TitleSource,
)
from app.download import Download
from app.engine_state import (
    EngineState,
    EngineStats,
    KernelReport,
    Ledger,
    MemoryPlan,
    ModelFacts,
    Planned,
    ShaderReport,
)
from app.local_server import LocalServer
from app.safe_start import Suspicion
from app.settings import Settings
from app.workspace import Workspace
from tests.ui.fake_chat import FakeChat

GB = 1_000_000_000
MODEL = "/models/Qwen3.6-35B-A3B-4bit.qpack"


class Calls(QObject):
    """Methods that are not defined are noted as (name, arguments)."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def note(self, name: str, *arguments: Any) -> None:
        self.calls.append((name, arguments))

    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


class FakeSettings(QObject):
    """Settings in memory."""

    changed = Signal(object)
    failed = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.settings = Settings()
        self.notice: Failure | None = None

    def update(self, **changes: Any) -> None:
        changed = replace(self.settings, **changes)
        if changed != self.settings:
            self.settings = changed
            self.changed.emit(changed)


class FakeEngine(Calls):
    """An engine whose state a test sets."""

    state_changed = Signal(object)
    stats_sampled = Signal(object)
    memory_changed = Signal(object)
    storage_changed = Signal(object)
    planned = Signal(object)
    died = Signal(object)
    bug_found = Signal(str)
    failed = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.state = EngineState()
        self.gave_up = False
        self.expected = ""

    def become(self, **changes: Any) -> None:
        self.state = replace(self.state, **changes)
        self.state_changed.emit(self.state)

    def load(self, path: str, memory_bytes: int | None = None) -> None:
        self.note("load", path, memory_bytes)

    def unload(self) -> None:
        self.note("unload")

    def resize(self, memory_bytes: int) -> None:
        self.note("resize", memory_bytes)

    def restart(self) -> None:
        self.note("restart")

    def go_on(self) -> None:
        self.note("go_on")

    def serve(self, host: str, port: int, api_key: str | None) -> None:
        self.note("serve", host, port, api_key)

    def expect(self, model: str) -> None:
        self.expected = model

    def stop_serving(self) -> None:
        self.note("stop_serving")

    def plan(self, path: str, memory_bytes: int | None = None) -> None:
        self.note("plan", path, memory_bytes)


class FakeModelWatch(QObject):
    """A disk that comes back when a test says so."""

    returned = Signal(str)


class FakeSafeStart(QObject):
    """A computer that did not go down, unless a test says so."""

    settled = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.suspicion: Suspicion | None = None


class FakeStore(QObject):
    """The two signals that the screen hears."""

    failed = Signal(object)
    bug_found = Signal(str)


class FakeLibrary(Calls):
    """A list in memory: pin, rename, move, delete and undo work."""

    changed = Signal(object)
    active_changed = Signal(object)
    search_finished = Signal(object)
    deleted = Signal(object)
    deleted_listed = Signal(object)
    exported = Signal(str)
    imported = Signal(object)
    failed = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.library = Library()
        self.bin: dict[str, Library] = {}

    def become(self, library: Library) -> None:
        self.library = library
        self.changed.emit(library)

    def _change(self, conversation_id: str, **changes: Any) -> None:
        self.become(
            replace(
                self.library,
                conversations=tuple(
                    replace(c, **changes) if c.id == conversation_id else c
                    for c in self.library.conversations
                ),
            )
        )

    def refresh(self) -> None:
        self.changed.emit(self.library)

    def search(self, query: str) -> None:
        self.note("search", query)

    def rename(self, conversation_id: str, title: str) -> None:
        self.note("rename", conversation_id, title)
        self._change(conversation_id, title=title, title_source="person")

    def set_pinned(self, conversation_id: str, pinned: bool) -> None:
        self.note("set_pinned", conversation_id, pinned)
        self._change(conversation_id, pinned=pinned)

    def create_folder(self, name: str) -> None:
        folders = self.library.folders
        new = Folder(f"folder{len(folders)}", name, len(folders))
        self.become(replace(self.library, folders=(*folders, new)))

    def rename_folder(self, folder_id: str, name: str) -> None:
        self.note("rename_folder", folder_id, name)

    def move(self, conversation_ids: Sequence[str], folder_id: str | None) -> None:
        self.note("move", tuple(conversation_ids), folder_id)
        for conversation_id in conversation_ids:
            self._change(conversation_id, folder_id=folder_id)

    def delete(self, conversation_ids: Sequence[str]) -> None:
        self.note("delete", tuple(conversation_ids))
        before = self.library
        gone = [c for c in before.conversations if c.id in conversation_ids]
        kept = tuple(c for c in before.conversations if c.id not in conversation_ids)
        self.become(replace(before, conversations=kept))
        deletion = Deletion(f"d{len(self.bin)}", "conversations", len(gone), gone[0].title)
        self.bin[deletion.id] = before
        self.deleted.emit(deletion)

    def delete_folder(self, folder_id: str) -> None:
        self.note("delete_folder", folder_id)

    def undo_delete(self, deletion_id: str) -> None:
        self.note("undo_delete", deletion_id)
        self.become(self.bin.pop(deletion_id))

    def list_deleted(self) -> None:
        self.note("list_deleted")

    def restore(self, conversation_ids: Sequence[str]) -> None:
        self.note("restore", tuple(conversation_ids))

    def erase(self, conversation_ids: Sequence[str]) -> None:
        self.note("erase", tuple(conversation_ids))

    def export(self, conversation_ids: Any, target: Any, form: str) -> None:
        self.note("export", conversation_ids, target, form)

    def import_(self, source: Any) -> None:
        self.note("import_", source)


class WindowChat(FakeChat):
    """A window's chat: it opens conversations of the library, and new ones."""

    def __init__(self, library: FakeLibrary) -> None:
        super().__init__()
        self._library = library
        self.current = None
        self.branches: dict[str, list[Message]] = {}
        library.changed.connect(self._on_library)

    def names(self) -> list[str]:
        """Names of what was asked."""
        return [str(ask[0]) for ask in self.asked]

    def become(self, **activity: Any) -> None:
        """The engine does this for the conversation."""
        self.do(Activity(**activity))

    def open(self, conversation_id: str) -> None:
        self.asked.append(("open", conversation_id))
        found = [c for c in self._library.library.conversations if c.id == conversation_id]
        if not found:
            self.failed.emit(Failure("NotFound", "This conversation does not exist any more."))
            return
        self.shown = self.branches.get(conversation_id, [])
        self._take(found[0])
        self.messages_reset.emit(self.messages)

    def open_new(self, folder_id: str | None = None) -> None:
        self.asked.append(("open_new",))
        self.shown = []
        self._take(Conversation(f"new{len(self.asked)}", "New chat"))
        self.messages_reset.emit(())

    def set_model(self, path: str) -> None:
        self.asked.append(("set_model", path))
        if self.current is not None:
            self._take(replace(self.current, model=path))

    def reveal(self, message_id: str) -> None:
        self.asked.append(("reveal", message_id))
        self.message_revealed.emit(message_id)

    def undo_delete(self, deletion_id: str) -> None:
        self.asked.append(("undo_delete", deletion_id))

    def close(self) -> None:
        self.asked.append(("close",))

    def _on_library(self, library: Library) -> None:
        for conversation in library.conversations:
            if self.current is not None and conversation.id == self.current.id:
                self._take(conversation)

    def _take(self, conversation: Conversation) -> None:
        self.current = conversation
        self.conversation_changed.emit(conversation)


class FakeDownloads(Calls):
    """A queue that a test sets."""

    changed = Signal(object)
    installed = Signal(str)
    cancelled = Signal(object)
    bug_found = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.downloads: tuple[Download, ...] = ()
        self.at_work = 0

    def become(self, *downloads: Download) -> None:
        self.downloads = downloads
        self.changed.emit(downloads)

    def add(self, source: str, name: str, variant: str = "") -> None:
        self.note("add", source, name, variant)

    def go_on(self, path: str, source: str, name: str) -> None:
        self.note("go_on", path, source, name)

    def repair(self, path: str, source: str, name: str) -> None:
        self.note("repair", path, source, name)

    def move(self, download_id: str, folder: Path) -> None:
        self.note("move", download_id, folder)

    def pause(self, download_id: str) -> None:
        self.note("pause", download_id)

    def resume(self, download_id: str, *, anyway: bool = False) -> None:
        self.note("resume", download_id, anyway)

    def cancel(self, download_id: str) -> None:
        self.note("cancel", download_id)


class FakeHubQuery(Calls):
    """A hub that a test answers for."""

    found = Signal(str, object)
    offered = Signal(object)
    failed = Signal(str, object)

    def search(self, words: str) -> None:
        self.note("search", words)

    def look_up(self, source: str) -> None:
        self.note("look_up", source)

    def forget(self) -> None:
        self.note("forget")


class FakeInstalledList(Calls):
    """Models that a test sets."""

    changed = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.has_trash = True

    def refresh(self) -> None:
        self.note("refresh")

    def trash(self, path: str) -> bool:
        self.note("trash", path)
        return self.has_trash


class FakeProbe(Calls):
    """A disk as fast as a test says."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.bytes_per_s: float | None = None
        self.is_measuring = False

    def measure(self) -> None:
        self.note("measure")

    def become(self, bytes_per_s: float | None, *, is_measuring: bool = False) -> None:
        self.bytes_per_s, self.is_measuring = bytes_per_s, is_measuring
        self.changed.emit()


class FakeKeychain:
    """A keychain in memory."""

    def __init__(self) -> None:
        self.token: str | None = None
        self.keeps = True

    def save(self, token: str) -> bool:
        self.token = token
        return self.keeps


class FakeWorkspace(QObject):
    """All of them together."""

    def __init__(self) -> None:
        super().__init__()
        self.settings = FakeSettings()
        self.engine = FakeEngine()
        self.model_watch = FakeModelWatch()
        self.safe_start = FakeSafeStart()
        self.library = FakeLibrary()
        self.store = FakeStore()
        self.downloads = FakeDownloads()
        self.hub = FakeHubQuery()
        self.installed = FakeInstalledList()
        self.keychain = FakeKeychain()
        self.server_key = FakeKeychain()
        self.server = LocalServer(self.settings, self.engine, self.server_key)  # type: ignore[arg-type]
        self.probe = FakeProbe()
        self.chats: list[WindowChat] = []

    def new_chat(self) -> WindowChat:
        chat = WindowChat(self.library)
        self.chats.append(chat)
        return chat

    @property
    def real(self) -> Workspace:
        """Itself, for constructors that name the real one."""
        return cast("Workspace", self)


def conversation(
    name: str, age_s: float = 0, *, source: TitleSource = "model", **rest: Any
) -> Conversation:
    """A conversation with `name` as title and id, last used `age_s` seconds ago."""
    return Conversation(name, name, source, updated_at=time.time() - age_s, **rest)


def loaded_state(**changes: Any) -> EngineState:
    """An engine with a model of 256 experts a layer, 70 of them in memory."""
    facts = ModelFacts(
        "Qwen3.6 35B-A3B",
        "/models/Qwen3.6-35B-A3B-4bit.qpack",
        "qwen3_5_moe",
        32_768,
        40,
        256,
        8,
        True,
    )
    plan = MemoryPlan(3 * GB, int(1.4 * GB), int(0.9 * GB), int(0.2 * GB), int(0.1 * GB), 70)
    stats = EngineStats(int(2.6 * GB), 0.71, 2.9 * GB, 85.0, 22.0)
    kernels = KernelReport("metal", "gpu", "bfloat16", (ShaderReport("moe", True),))
    state = EngineState("running", 1, "loaded", MODEL, 1.0, facts, plan, kernels, stats=stats)
    return replace(state, **changes)


def planned(**changes: Any) -> Planned:
    """What that model would take, of 6 GB that are free."""
    ledger = Ledger(
        core_bytes=int(1.4 * GB),
        state_bytes=int(0.2 * GB),
        expert_bytes=int(0.9 * GB),
        staging_bytes=int(0.06 * GB),
        scratch_bytes=int(0.3 * GB),
        runtime_bytes=int(0.14 * GB),
        slots_per_layer=70,
        expert_count=256,
    )
    made = Planned(MODEL, None, ledger, 6 * GB, int(2.2 * GB), int(5.4 * GB))
    return replace(made, **changes)
