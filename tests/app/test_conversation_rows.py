"""Conversations and folders: the list, names, deletion and its undoing, erasing."""

import sqlite3

import pytest

from app import conversation_rows as rows
from app.conversation import Conversation
from app.settings import Overrides, Sampling
from tests.app.store_fixtures import Chat, new_chat


def named(db: sqlite3.Connection, *titles: str) -> list[Chat]:
    chats = [new_chat(db) for _ in titles]
    for number, (chat, title) in enumerate(zip(chats, titles, strict=True)):
        chat.clock = 1000.0 * number
        chat.say(f"words of {title}")
        rows.rename(db, chat.id, title)
    return chats


def titles(db: sqlite3.Connection) -> list[str]:
    return [c.title for c in rows.read_library(db).conversations]


def test_pinned_first_then_the_latest(db: sqlite3.Connection) -> None:
    first, _, _ = named(db, "1", "2", "3")
    assert titles(db) == ["3", "2", "1"]
    rows.set_pinned(db, first.id, True)
    assert titles(db) == ["1", "3", "2"]
    rows.set_pinned(db, first.id, False)
    assert titles(db) == ["3", "2", "1"]


def test_the_first_words_stand_in_for_a_name(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    chat.say("  Tell me\nabout " + "very " * 20 + "long things")
    chat.say("And more")
    (title,) = titles(db)
    assert title.startswith("Tell me about very")
    assert title.endswith("very…")
    assert len(title) <= 61


def test_a_name_by_hand_is_never_replaced_by_the_model(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    chat.say("hi")
    rows.name_by_model(db, chat.id, "Greetings")
    assert titles(db) == ["Greetings"]
    rows.name_by_model(db, chat.id, "Again")
    assert titles(db) == ["Greetings"]
    rows.rename(db, chat.id, " By\nhand ")
    rows.name_by_model(db, chat.id, "No")
    assert titles(db) == ["By hand"]
    rows.rename(db, chat.id, " ")
    assert titles(db) == ["hi"]
    rows.name_by_model(db, chat.id, "Now")
    assert titles(db) == ["Now"]


def test_empty_conversations_are_not_listed_and_go_in_time(db: sqlite3.Connection) -> None:
    for id, draft in (("empty", ""), ("draft", "half a thought")):
        rows.keep(db, Conversation(id, "", created_at=1.0, updated_at=1.0))
        rows.set_draft(db, id, draft)
    assert [c.draft for c in rows.read_library(db).conversations] == ["half a thought"]
    rows.purge(db, 2.0)
    assert rows.read_conversation(db, "empty") is None
    assert rows.read_conversation(db, "draft") is not None


def test_own_settings_are_kept(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    chat.say("hi")
    overrides = Overrides("Be brief.", Sampling(temperature=0.1, top_k=3), thinking=False)
    rows.set_overrides(db, chat.id, overrides)
    rows.set_model(db, chat.id, "/models/m")
    conversation = rows.read_conversation(db, chat.id)
    assert conversation is not None
    assert conversation.overrides == overrides
    assert conversation.model == "/models/m"


def test_settings_that_make_no_sense_hide_nothing(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    chat.say("hi")
    db.execute("""UPDATE conversation SET overrides = '{"sampling": 7}'""")
    conversation = rows.read_conversation(db, chat.id)
    assert conversation is not None
    assert conversation.overrides == Overrides()


def test_delete_and_undo(db: sqlite3.Connection) -> None:
    one, two, _ = named(db, "1", "2", "3")
    deletion = rows.delete(db, [two.id, one.id], 5000.0)
    assert (deletion.kind, deletion.count, deletion.title) == ("conversations", 2, "1")
    assert titles(db) == ["3"]
    assert [c.title for c in rows.read_deleted(db)] == ["2", "1"]
    rows.undo_delete(db, deletion.id)
    assert titles(db) == ["3", "2", "1"]
    assert rows.read_deleted(db) == ()


def test_undo_brings_back_what_went_with_it_and_no_more(db: sqlite3.Connection) -> None:
    one, two = named(db, "1", "2")
    first = rows.delete(db, [one.id], 5000.0)
    second = rows.delete(db, [one.id, two.id], 6000.0)
    assert second.count == 1
    rows.undo_delete(db, second.id)
    assert titles(db) == ["2"]
    rows.undo_delete(db, first.id)
    assert titles(db) == ["2", "1"]


def test_a_deleted_folder_comes_back_whole(db: sqlite3.Connection) -> None:
    one, two, three = named(db, "1", "2", "3")
    folder = rows.create_folder(db, "Work")
    rows.create_folder(db, "Home")
    rows.move(db, [one.id, two.id], folder)
    rows.set_pinned(db, one.id, True)
    before = rows.read_library(db)
    gone_before = rows.delete(db, [two.id], 5000.0)
    deletion = rows.delete_folder(db, folder, 6000.0)
    assert (deletion.kind, deletion.count, deletion.title) == ("folder", 1, "Work")
    assert [f.name for f in rows.read_library(db).folders] == ["Home"]
    assert titles(db) == ["3"]
    rows.undo_delete(db, deletion.id)
    rows.undo_delete(db, gone_before.id)
    assert rows.read_library(db) == before
    assert three.id in {c.id for c in before.conversations}


def test_restoring_from_a_deleted_folder_leaves_the_folder(db: sqlite3.Connection) -> None:
    (one,) = named(db, "1")
    folder = rows.create_folder(db, "Work")
    rows.move(db, [one.id], folder)
    rows.delete_folder(db, folder, 5000.0)
    rows.restore(db, [one.id])
    (conversation,) = rows.read_library(db).conversations
    assert conversation.folder_id is None


def test_folders_have_names_and_an_order(db: sqlite3.Connection) -> None:
    ids = [rows.create_folder(db, name) for name in ("b", "a")]
    rows.rename_folder(db, ids[0], "c")
    assert [folder.name for folder in rows.read_library(db).folders] == ["c", "a"]


def test_what_was_deleted_goes_after_30_days(db: sqlite3.Connection) -> None:
    old, new, _ = named(db, "old", "new", "kept")
    rows.delete(db, [old.id], 0.0)
    rows.delete(db, [new.id], 20 * 86400.0)
    rows.purge(db, 31 * 86400.0)
    assert [c.title for c in rows.read_deleted(db)] == ["new"]
    assert db.execute("SELECT count(*) FROM message").fetchone() == (4,)


def test_erased_words_are_nowhere_in_the_file(db: sqlite3.Connection) -> None:
    chat, other = new_chat(db), new_chat(db)
    chat.say("my unmentionable xylophone", "a quixotic xylophone answer")
    other.say("plain words")
    rows.erase(db, [chat.id])
    rows.scrub(db)
    (path,) = (row[2] for row in db.execute("PRAGMA database_list") if row[1] == "main")
    for name in (path, f"{path}-wal"):
        with open(name, "rb") as file:
            content = file.read()
        assert b"xylophone" not in content
        assert b"quixotic" not in content


@pytest.mark.parametrize("text", ["", "short", "x" * 500, "a " * 300, "\n\t \n", "漢字" * 100])
def test_first_words_are_one_short_line(text: str) -> None:
    line = rows.first_words(text)
    assert len(line) <= 61
    assert line == " ".join(line.split())
