"""Exporting conversations to files and reading them back.

Runs apart from the UI thread. Files are there whole or not at all; a file's name is its title's.
"""

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from app.archive import Archive, BadArchive, from_text, read_archive, to_text, write_archive
from app.atomic_file import write_atomically
from app.conversation_rows import read_library
from app.markdown_export import to_markdown
from app.open_chat import read_chat
from engine.errors import MartletError

Form = Literal["markdown", "json"]
_SUFFIXES: dict[Form, str] = {"markdown": ".md", "json": ".json"}
_LONGEST_NAME = 80


class ExportFailed(MartletError):
    """A file could not be written."""


def export_one(db: sqlite3.Connection, id: str, target: Path, form: Form) -> Path:
    """One conversation into the file `target`. Raises ExportFailed."""
    text = _text(db, id, form)
    if text is None:
        raise ExportFailed("This conversation does not exist any more.")
    try:
        write_atomically(target, text)
    except OSError as error:
        raise ExportFailed(
            f"{target.name} could not be written: {error.strerror}.", "Choose another place."
        ) from error
    return target


def export_many(
    db: sqlite3.Connection, ids: Sequence[str] | None, folder: Path, form: Form
) -> Path:
    """Several conversations, or all (None), into `folder`, a file each. Raises ExportFailed."""
    taken: set[str] = set()
    for conversation in read_library(db).conversations:
        if ids is None or conversation.id in ids:
            name = _free_name(conversation.title, taken)
            export_one(db, conversation.id, folder / f"{name}{_SUFFIXES[form]}", form)
    return folder


def read_files(source: Path) -> tuple[Archive, ...]:
    """The conversations in a JSON file, or in all those of a folder. Raises BadArchive."""
    files = sorted(source.glob("*.json")) if source.is_dir() else [source]
    if not files:
        raise BadArchive(f"{source.name} holds no exported conversations.")
    return tuple(from_text(_read(file), file.name) for file in files)


def write_archives(db: sqlite3.Connection, archives: Sequence[Archive]) -> tuple[str, ...]:
    """Add them to the store, all or none; return the conversations' ids."""
    return tuple(write_archive(db, archive) for archive in archives)


def _text(db: sqlite3.Connection, id: str, form: Form) -> str | None:
    if form == "json":
        archive = read_archive(db, id)
        return to_text(archive) if archive else None
    chat = read_chat(db, id)
    return to_markdown(chat.conversation, chat.branch) if chat else None


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadArchive(f"{file.name} cannot be read: {error}.") from error


def _free_name(title: str, taken: set[str]) -> str:
    """A file name from a title: no separators, no leading dot, no two alike in any case."""
    plain = re.sub(r"[\x00-\x1f/\\:*?\"<>|]+", " ", title)
    stem = " ".join(plain.split()).lstrip(".")[:_LONGEST_NAME].strip() or "Chat"
    name, count = stem, 1
    while name.casefold() in taken:
        count += 1
        name = f"{stem} {count}"
    taken.add(name.casefold())
    return name
