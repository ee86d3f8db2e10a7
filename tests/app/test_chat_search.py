"""Search finds words, beginnings, accents, scripts without blanks, on every branch; no more."""

import sqlite3

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app import chat_search, conversation_rows, message_rows, turns
from app.chat_search import LONGEST_QUERY, fold, search
from tests.app.store_fixtures import Chat, new_chat


@pytest.fixture
def chat(db: sqlite3.Connection) -> Chat:
    chat = new_chat(db)
    chat.say("How do I bake a crème brûlée?", "Heat the cream **slowly** to 80 °C.")
    chat.say("日本語の文章を検索できますか", "はい、東京の天気も。")
    chat.say("C++ and 100% of a_b\\c", "Use `std::vector<int>`.")
    chat.say("ขอบคุณครับ", "Спасибо, друзья")
    return chat


def found(db: sqlite3.Connection, query: str) -> list[str]:
    ids = [hit.message_id for hit in search(db, query).hits if hit.message_id]
    texts = dict(db.execute("SELECT id, text FROM message"))
    return [texts[id] for id in ids]


@pytest.mark.parametrize(
    ("query", "beginning"),
    [
        ("bake", "How do"),
        ("BAKE", "How do"),
        ("brulee", "How do"),
        ("brûlée crème", "How do"),
        ("slow", "Heat"),
        ("cream heat", "Heat"),
        ("東京", "はい"),
        ("検", "日本語"),
        ("ขอบ", "ขอบ"),
        ("спасибо", "Спасибо"),
        ("C++", "C++"),
        ("100%", "C++"),
        ("a_b\\c", "C++"),
        ("std::vector", "Use"),
        ('"vector"', "Use"),
        ("ector<i", "Use"),
    ],
)
def test_what_is_found(chat: Chat, query: str, beginning: str) -> None:
    assert [text for text in found(chat.db, query) if text.startswith(beginning)]


@pytest.mark.parametrize("query", ["bake slowly", "1000%", "京都", "zebra", "NOT bake OR"])
def test_what_is_not_found(chat: Chat, query: str) -> None:
    assert found(chat.db, query) == []


@pytest.mark.parametrize("query", ["", " ", "\0", "\t\n"])
def test_nothing_is_asked(chat: Chat, query: str) -> None:
    assert search(chat.db, query).hits == ()


@given(st.text(max_size=40))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_query_breaks_anything(chat: Chat, query: str) -> None:
    results = search(chat.db, query)
    for hit in results.hits:
        for start, length in hit.marks:
            assert 0 <= start < start + length <= len(hit.excerpt)


def test_marks_are_where_the_words_are(chat: Chat) -> None:
    (hit,) = search(chat.db, "brulee bake").hits[1:]  # the first is the title
    words = [hit.excerpt[start : start + length] for start, length in hit.marks]
    assert words == ["bake", "brûlée"]


def test_titles_are_found_in_any_script(chat: Chat) -> None:
    conversation_rows.rename(chat.db, chat.id, "Żółta łódź 東京")
    for query in ("zołta", "東京", "ŁÓDŹ"):
        hit = search(chat.db, query).hits[0]
        assert (hit.conversation_id, hit.message_id) == (chat.id, None)
        assert hit.marks


def test_every_branch_is_searched(chat: Chat) -> None:
    first = chat.shown[0]
    turns.edit_turn(chat.db, first.id, "something else", 3000.0)
    assert len(chat.shown) == 2
    assert found(chat.db, "bake") == ["How do I bake a crème brûlée?"]


def test_what_is_deleted_is_not_found(chat: Chat) -> None:
    deletion = turns.delete(chat.db, chat.shown[2].id, 3000.0)
    assert found(chat.db, "vector") == []
    assert found(chat.db, "東京") == []
    turns.undo_delete(chat.db, deletion.id)
    assert len(found(chat.db, "vector")) == 1
    conversation_rows.delete(chat.db, [chat.id], 3000.0)
    assert search(chat.db, "bake").hits == ()


def test_an_answer_is_found_once_it_has_settled(chat: Chat) -> None:
    turn = chat.say("Tell me about zebras", None)
    chat.answer(turn.answer_id, "Zebras have stripes")
    assert len(found(chat.db, "zebras")) == 2
    turns.await_more(chat.db, turn.answer_id)
    chat.answer(turn.answer_id, " and hooves")
    assert found(chat.db, "stripes hooves") == ["Zebras have stripes and hooves"]
    message_rows.mark_interrupted(chat.db)
    check_index(chat.db)


def test_the_index_follows_every_change(chat: Chat) -> None:
    turn = chat.say("first words", None)
    turns.edit_turn(chat.db, turn.user_id or "", "other words", 3000.0)
    assert found(chat.db, "first") == []
    assert found(chat.db, "other") == ["other words"]
    turns.remove_waiting(chat.db, turn.answer_id)
    assert found(chat.db, "other") == []
    check_index(chat.db)


def check_index(db: sqlite3.Connection) -> None:
    """FTS5 compares the index with the table; what still grows is in neither."""
    assert not db.execute(
        "SELECT 1 FROM message WHERE status IN ('queued', 'streaming')"
    ).fetchall()
    db.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")


def test_a_long_excerpt_is_cut_around_the_word(chat: Chat) -> None:
    chat.say("start " * 100 + "needle " + "end " * 100)
    hit = next(h for h in search(chat.db, "needle").hits if h.message_id)
    assert hit.excerpt.startswith("…")
    assert hit.excerpt.endswith("…")
    assert "needle" in hit.excerpt
    assert len(hit.excerpt) < 130


def test_many_hits_are_cut(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_search, "MOST_HITS", 5)
    for _ in range(6):
        chat.say("plenty", "人人")
    for query in ("plenty", "人"):
        results = search(chat.db, query)
        assert len(results.hits) == 5
        assert results.truncated
    assert not search(chat.db, "bake").truncated


def test_a_very_long_query_is_cut(chat: Chat) -> None:
    search(chat.db, "x" * 100_000)
    search(chat.db, "x " * LONGEST_QUERY)


@given(st.text())
@settings(deadline=None)
def test_folding_keeps_places(text: str) -> None:
    if not text.isascii():
        assert len(fold(text)) == len(text)
