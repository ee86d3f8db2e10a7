"""The sidebar: lists, search, deletion with undo, export and import, through the real store."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from app import paths
from app.chat_controller import ChatController
from app.library_controller import LibraryController
from app.workspace import Workspace
from engine import snapshot_folder
from tests.app.conftest import Heard, WaitFor

Make = Callable[..., Workspace]


@pytest.fixture
def workspace(make_workspace: Make, wait_for: WaitFor) -> Workspace:
    """Three conversations: cats, dogs, birds."""
    workspace = make_workspace({"answers": [{"text": "they are animals"}]})
    chat = workspace.new_chat()
    for text in ("cats", "dogs", "birds"):
        chat.open_new()
        chat.send(text)
    wait_for(lambda: len(workspace.library.library.conversations) == 3)
    wait_for(lambda: workspace.answers.is_idle)
    return workspace


@pytest.fixture
def library(workspace: Workspace) -> LibraryController:
    return workspace.library


def titles(library: LibraryController) -> list[str]:
    return [conversation.title for conversation in library.library.conversations]


def id_of(library: LibraryController, title: str) -> str:
    return next(c.id for c in library.library.conversations if c.title == title)


def test_names_and_pins(library: LibraryController, wait_for: WaitFor) -> None:
    library.rename(id_of(library, "cats"), "Felines")
    library.set_pinned(id_of(library, "dogs"), True)
    wait_for(lambda: titles(library) == ["dogs", "birds", "Felines"])


def test_an_open_conversation_hears_its_new_name(
    workspace: Workspace, library: LibraryController, wait_for: WaitFor
) -> None:
    chat = workspace.new_chat()
    chat.open(id_of(library, "cats"))
    wait_for(lambda: chat.conversation)
    library.rename(chat.conversation.id, "Felines")
    wait_for(lambda: chat.conversation.title == "Felines")


def test_folders(library: LibraryController, wait_for: WaitFor) -> None:
    library.create_folder("Pets")
    wait_for(lambda: library.library.folders)
    folder = library.library.folders[0]
    library.move([id_of(library, "cats"), id_of(library, "dogs")], folder.id)
    library.rename_folder(folder.id, "Animals")
    wait_for(lambda: library.library.folders[0].name == "Animals")
    before = library.library
    deleted = Heard(library.deleted)
    library.delete_folder(folder.id)
    wait_for(lambda: titles(library) == ["birds"] and deleted.told)
    assert (deleted.last.kind, deleted.last.count) == ("folder", 2)
    library.undo_delete(deleted.last.id)
    wait_for(lambda: library.library == before)


def test_delete_restore_erase(library: LibraryController, wait_for: WaitFor) -> None:
    deleted, listed = Heard(library.deleted), Heard(library.deleted_listed)
    ids = [id_of(library, "cats"), id_of(library, "dogs")]
    library.delete(ids)
    wait_for(lambda: titles(library) == ["birds"] and deleted.told)
    library.restore(ids[:1])
    wait_for(lambda: titles(library) == ["birds", "cats"])
    library.erase(ids[1:])
    library.list_deleted()
    wait_for(lambda: listed.told)
    library.list_deleted()
    wait_for(lambda: listed.last == ())


def test_search_answers_the_latest_question_only(
    library: LibraryController, wait_for: WaitFor
) -> None:
    found = Heard(library.search_finished)
    for query in ("c", "ca", "cat", "animals"):
        library.search(query)
    wait_for(lambda: found.told)
    assert {results.query for results in found.told} == {"animals"}
    assert len(found.last.hits) == 3


def test_deleting_what_is_answered_stops_it(make_workspace: Make, wait_for: WaitFor) -> None:
    slow = {"text": ["a "] * 10_000, "delay_s": 0.01}
    workspace = make_workspace({"answers": [slow]})
    active = Heard(workspace.library.active_changed)
    chats: list[ChatController] = []
    for text in ("one", "two"):
        chats.append(workspace.new_chat())
        chats[-1].open_new()
        chats[-1].send(text)
    wait_for(lambda: chats[0].messages and chats[0].messages[-1].text)
    ids = [chat.conversation.id for chat in chats]
    assert active.last == frozenset(ids)
    workspace.library.delete(ids)
    wait_for(lambda: workspace.answers.is_idle and active.last == frozenset())
    wait_for(lambda: workspace.library.library.conversations == ())
    wait_for(lambda: all(chat.conversation.deleted_at for chat in chats))
    assert [chat.messages[-1].status for chat in chats] == ["stopped", "stopped"]


def test_what_goes_leaves_nothing_with_the_engine(
    workspace: Workspace, library: LibraryController, wait_for: WaitFor
) -> None:
    folder = paths.snapshots_folder()
    folder.mkdir(parents=True)
    ids = {title: id_of(library, title) for title in ("cats", "dogs", "birds")}
    for id in ids.values():
        (folder / snapshot_folder.file_name(id, "0" * 16, b"1234")).touch()

    def kept() -> set[str]:
        left = {file.conversation for file in snapshot_folder.shelved(folder)}
        return {title for title, id in ids.items() if snapshot_folder.tag(id) in left}

    library.delete([ids["cats"]])
    assert kept() == {"dogs", "birds"}
    library.erase([ids["dogs"]])
    assert kept() == {"birds"}
    chat = workspace.new_chat()
    chat.open(ids["birds"])
    wait_for(lambda: chat.messages)
    chat.delete(chat.messages[-1].id)
    assert kept() == set()
    wait_for(lambda: len(chat.messages) == 1)


def test_export_and_import(library: LibraryController, wait_for: WaitFor, tmp_path: Path) -> None:
    exported, imported = Heard(library.exported), Heard(library.imported)
    failed = Heard(library.failed)
    library.export([id_of(library, "cats")], tmp_path / "cats.md", "markdown")
    wait_for(lambda: exported.told)
    assert "they are animals" in (tmp_path / "cats.md").read_text()
    library.export(None, tmp_path / "all", "json")
    wait_for(lambda: len(exported) == 2)
    files = sorted((tmp_path / "all").iterdir())
    assert [file.name for file in files] == ["birds.json", "cats.json", "dogs.json"]
    assert json.loads(files[0].read_text())["format"] == "martlet-conversation"
    library.import_(tmp_path / "all")
    wait_for(lambda: imported.told and len(titles(library)) == 6)
    assert len(imported.last) == 3
    files[0].write_text("{}")
    library.import_(tmp_path / "all")
    wait_for(lambda: failed.told)
    assert failed.last.kind == "BadArchive"
    assert len(titles(library)) == 6


def test_one_list_for_many_changes(library: LibraryController, wait_for: WaitFor) -> None:
    changed = Heard(library.changed)
    for number in range(20):
        library.rename(id_of(library, "cats") if number == 0 else "nobody", f"{number}")
    wait_for(lambda: "0" in titles(library))
    assert len(changed) <= 20
