"""Export and import: the same tree comes back; damaged files are refused whole."""

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app import archive, conversation_rows, exchange, message_rows, turns
from app.archive import BadArchive, from_text, read_archive, to_text, write_archive
from app.conversation import AnswerStats, Attachment, Failure
from app.exchange import ExportFailed
from app.settings import Overrides, Sampling
from tests.app.store_fixtures import Chat, new_chat


@pytest.fixture
def chat(db: sqlite3.Connection) -> Chat:
    """A tree with versions, an attachment, figures, an error, a folder and own settings."""
    chat = new_chat(db)
    first = chat.say("q \U0001f600", "one", Attachment("a.py", "x = 1\n"))
    again = turns.add_version(db, first.answer_id, 2000.0)
    chat.answer(again.answer_id, "two")
    turns.edit_turn(db, first.user_id or "", "q2", 2001.0)
    message_rows.mark_interrupted(db)
    turns.choose(db, [first.user_id or ""])
    whole = replace(
        chat.shown[1],
        reasoning="hm",
        reasoning_s=1.5,
        status="failed",
        error=Failure("ContextFull", "Too long.", "Shorten it."),
        finish_reason="length",
        stats=AnswerStats(1, 0, 2, 0.5, 3.0, 4.0, 0.5, 6, 0.25, 7),
    )
    message_rows.save_answer(db, whole)
    conversation_rows.rename(db, chat.id, "A/B: naming")
    conversation_rows.set_pinned(db, chat.id, True)
    conversation_rows.set_draft(db, chat.id, "half")
    overrides = Overrides("Be brief.", Sampling(top_k=3), thinking=True)
    conversation_rows.set_overrides(db, chat.id, overrides)
    conversation_rows.move(db, [chat.id], conversation_rows.create_folder(db, "Work"))
    return chat


def export(chat: Chat) -> str:
    stored = read_archive(chat.db, chat.id)
    assert stored is not None
    return to_text(stored)


def test_what_was_exported_and_erased_comes_back_the_same(chat: Chat) -> None:
    before, text = chat.shown, export(chat)
    library = conversation_rows.read_library(chat.db)
    conversation_rows.erase(chat.db, [chat.id])
    assert write_archive(chat.db, from_text(text, "x.json")) == chat.id
    assert chat.shown == before
    assert export(chat) == text
    assert conversation_rows.read_library(chat.db) == library


def test_an_import_beside_the_original_is_a_second_one(chat: Chat) -> None:
    text = export(chat)
    copy = Chat(chat.db, write_archive(chat.db, from_text(text, "x.json")))
    assert copy.id != chat.id
    assert copy.texts == chat.texts
    assert shape(copy) == shape(chat)
    assert len(conversation_rows.read_library(chat.db).folders) == 1


def shape(chat: Chat) -> list[Any]:
    """Everything but the ids."""
    stored = message_rows.read_messages(chat.db, chat.id)
    numbers = {s.message.id: n for n, s in enumerate(stored)}
    return [
        (
            replace(s.message, id="", conversation_id="", parent_id=None),
            numbers.get(s.message.parent_id or ""),
            s.chosen,
        )
        for s in stored
    ]


def test_an_answer_exported_while_it_grew_is_interrupted(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    chat.say("q", None)
    imported = from_text(export(chat), "x.json")
    assert [s.message.status for s in imported.messages] == ["complete", "interrupted"]


def damaged(change: Callable[[dict[str, Any]], object]) -> Callable[[str], str]:
    def apply(text: str) -> str:
        value = json.loads(text)
        change(value)
        return json.dumps(value)

    return apply


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda text: "", "x.json is damaged"),
        (lambda text: text[: len(text) // 2], "x.json is damaged"),
        (lambda text: "[" * 100_000, "x.json is damaged"),
        (lambda text: "[]", "not a conversation that Martlet exported"),
        (damaged(lambda v: v.update(format="other")), "not a conversation"),
        (damaged(lambda v: v.update(version=2)), "another version"),
        (damaged(lambda v: v.pop("messages")), "messages is missing"),
        (damaged(lambda v: v["messages"][0]["message"].update(role="system")), "role is 'system'"),
        (damaged(lambda v: v["messages"].reverse()), "do not make a tree"),
        (damaged(lambda v: v["messages"].pop(0)), "do not make a tree"),
        (damaged(lambda v: v["messages"].append(v["messages"][0])), "do not make a tree"),
        (damaged(lambda v: v["conversation"].update(id="other")), "do not make a tree"),
        (damaged(lambda v: v["messages"][0]["message"].update(text="\ud800")), "text is"),
    ],
)
def test_damaged_files_are_refused(chat: Chat, damage: Callable[[str], str], sentence: str) -> None:
    with pytest.raises(BadArchive, match=sentence):
        from_text(damage(export(chat)), "x.json")


def test_all_conversations_become_files_and_come_back(chat: Chat, tmp_path: Path) -> None:
    for title in ("a/b: naming", ".hidden", "?*|", "x" * 300):
        other = new_chat(chat.db)
        other.say("hello")
        conversation_rows.rename(chat.db, other.id, title)
    folder = exchange.export_many(chat.db, None, tmp_path / "out", "json")
    names = sorted(file.name for file in folder.iterdir())
    assert names == [
        *("A B naming.json", "Chat.json", "a b naming 2.json", "hidden.json"),
        "x" * 80 + ".json",
    ]
    before = {c.id: Chat(chat.db, c.id).texts for c in all_conversations(chat.db)}
    conversation_rows.erase(chat.db, list(before))
    ids = exchange.write_archives(chat.db, exchange.read_files(folder))
    assert {id: Chat(chat.db, id).texts for id in ids} == before


def all_conversations(db: sqlite3.Connection) -> tuple[Any, ...]:
    return conversation_rows.read_library(db).conversations


def test_a_damaged_file_in_a_folder_stops_the_whole_import(chat: Chat, tmp_path: Path) -> None:
    exchange.export_one(chat.db, chat.id, tmp_path / "a.json", "json")
    (tmp_path / "b.json").write_bytes(b"\xff\xfe")
    with pytest.raises(BadArchive, match=r"b\.json cannot be read"):
        exchange.read_files(tmp_path)


def test_a_folder_without_conversations_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadArchive, match="holds no exported"):
        exchange.read_files(tmp_path)


def test_a_place_that_cannot_be_written_is_told(chat: Chat, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ExportFailed, match=r"x\.md could not be written"):
        exchange.export_one(chat.db, chat.id, tmp_path / "file" / "x.md", "markdown")
    with pytest.raises(ExportFailed, match="does not exist any more"):
        exchange.export_one(chat.db, "nobody", tmp_path / "x.md", "markdown")
    assert not (tmp_path / "x.md").exists()


def test_markdown_is_for_people(chat: Chat, tmp_path: Path) -> None:
    page = exchange.export_one(chat.db, chat.id, tmp_path / "x.md", "markdown").read_text()
    assert page.startswith("# A/B: naming\n")
    assert "## You\n\na.py:\n```\nx = 1\n```\n\nq \U0001f600\n" in page
    assert "## Martlet (Fake)\n\n> Thinking\n>\n> hm\n\ntwo\n\n*Not finished.*\n" in page
    assert "q2" not in page


def test_ids_are_looked_up_in_both_tables(chat: Chat) -> None:
    stored = archive.read_archive(chat.db, chat.id)
    assert stored is not None
    moved = replace(stored.conversation, id="free")
    messages = tuple(
        replace(s, message=replace(s.message, conversation_id="free")) for s in stored.messages
    )
    id = write_archive(chat.db, replace(stored, conversation=moved, messages=messages))
    assert id not in ("free", chat.id)  # the messages' ids were taken
