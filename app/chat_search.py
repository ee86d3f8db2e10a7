"""Search over titles and every branch: an index for words, a scan where words do not help.

The index splits texts at blanks and signs, so it finds nothing inside of a run of Chinese or
Japanese, and no parts of words but their beginnings. Where the query holds such a script, or the
index finds nothing, every text is scanned for the query as it stands: always right, and some tens
of milliseconds for 40,000 messages. Titles are few and are always scanned.
"""

import re
import sqlite3
import unicodedata
from collections.abc import Iterator
from typing import Any

from app.conversation import SearchHit, SearchResults
from app.conversation_rows import NAMELESS

MOST_HITS = 200
LONGEST_QUERY = 200  # characters; the rest is not looked at
EXCERPT_CHARACTERS = 120
_LEAD_CHARACTERS = 40  # of an excerpt, before the first word found

# Scripts written without blanks between words: Thai, Lao, Myanmar, Khmer, kana, Han, Hangul.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
_LIKE_SIGNS, _ESCAPED = re.compile(r"[%_\\]"), r"\\\g<0>"
_FROM_MESSAGES = (
    " JOIN conversation c ON c.id = m.conversation_id"
    " WHERE m.deleted_at IS NULL AND c.deleted_at IS NULL"
)
_COLUMNS = "c.id, c.title, c.first_words, m.id, m.text, m.created_at"


def search(db: sqlite3.Connection, query: str) -> SearchResults:
    """All terms of `query` (split at blanks) must occur. Titles, then the latest messages."""
    terms = query[:LONGEST_QUERY].replace("\0", " ").split()
    if not terms:
        return SearchResults(query, ())
    hits = list(_search_titles(db, terms))
    rows = [] if _UNSPACED.search(query) else _search_index(db, terms)
    hits += (_message_hit(row, terms) for row in rows or _scan(db, terms))
    return SearchResults(query, tuple(hits[:MOST_HITS]), truncated=len(hits) > MOST_HITS)


def _search_titles(db: sqlite3.Connection, terms: list[str]) -> Iterator[SearchHit]:
    folded_terms = [fold(term) for term in terms]
    for id, title, words, at in db.execute(
        "SELECT id, title, first_words, updated_at FROM conversation WHERE deleted_at IS NULL"
        " ORDER BY updated_at DESC"
    ):
        name = title or words
        folded = fold(name)
        if all(term in folded for term in folded_terms):
            yield SearchHit(id, name or NAMELESS, None, name, _marks(name, terms), at)


def _search_index(db: sqlite3.Connection, terms: list[str]) -> list[tuple[Any, ...]]:
    quoted = " ".join('"' + term.replace('"', '""') + '"' for term in terms)
    return db.execute(
        f"SELECT {_COLUMNS} FROM words JOIN message m ON m.number = words.rowid {_FROM_MESSAGES}"
        " AND words MATCH ? ORDER BY words.rowid DESC LIMIT ?",
        (f"{quoted}*", MOST_HITS + 1),  # the last word may be unfinished
    ).fetchall()


def _scan(db: sqlite3.Connection, terms: list[str]) -> list[tuple[Any, ...]]:
    conditions = " AND m.text LIKE ? ESCAPE '\\'" * len(terms)
    patterns = [f"%{_LIKE_SIGNS.sub(_ESCAPED, term)}%" for term in terms]
    return db.execute(
        f"SELECT {_COLUMNS} FROM message m {_FROM_MESSAGES}{conditions}"
        " ORDER BY m.number DESC LIMIT ?",
        (*patterns, MOST_HITS + 1),
    ).fetchall()


def _message_hit(row: tuple[Any, ...], terms: list[str]) -> SearchHit:
    conversation_id, title, words, message_id, text, at = row
    found = _excerpt(text, terms)
    return SearchHit(
        conversation_id, title or words or NAMELESS, message_id, found, _marks(found, terms), at
    )


def _excerpt(text: str, terms: list[str]) -> str:
    """One line around the first term found, with ellipses where it was cut."""
    start = max(0, _first_place(text, terms) - _LEAD_CHARACTERS)
    line = " ".join(text[start : start + EXCERPT_CHARACTERS].split())
    rest = len(text) > start + EXCERPT_CHARACTERS
    return f"{'…' if start else ''}{line}{'…' if rest else ''}"


def _first_place(text: str, terms: list[str]) -> int:
    for plain in (str.lower, fold):  # folding accents is slow, and seldom needed
        folded = plain(text)
        places = [place for term in terms if (place := folded.find(plain(term))) >= 0]
        if places:
            return min(places)
    return 0


def _marks(text: str, terms: list[str]) -> tuple[tuple[int, int], ...]:
    folded = fold(text)
    places = {
        (match.start(), len(match.group()))
        for term in terms
        for match in re.finditer(re.escape(fold(term)), folded)
    }
    return tuple(sorted(places))


def fold(text: str) -> str:
    """Without case and accents, character for character, so that places stay what they are."""
    return text.lower() if text.isascii() else "".join(map(_fold_character, text))


def _fold_character(character: str) -> str:
    if character.isascii():
        return character.lower()
    base = unicodedata.normalize("NFD", character)[0].lower()
    return base if len(base) == 1 else character
