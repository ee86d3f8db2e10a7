"""SnapshotFolder: the snapshot files of all models and processes, by their names alone.

A name says whose conversation it is, of which model, after how many tokens, and the digest of
those; nothing but the file holds them. Several processes share a folder without a lock: files
appear whole, and one that has gone is a snapshot less. Needs no MLX, so that a program which
erases a conversation can erase its snapshots with it, whether an engine runs or not.
Tokens are given as bytes, four an id.
"""

import contextlib
import hashlib
import os
import re
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SHELF_BYTES = 4_000_000_000
KEPT_S = 14 * 86_400  # since the last use
PER_CONVERSATION = 8  # two a turn: where it ends, and where its answer does
ABANDONED_S = 600  # after which an unfinished file has no writer any more
NOBODY = "any"  # instead of a conversation that has no name

_NAME = re.compile(r"([0-9a-f]{16}|any)-([0-9a-f]{16})-(\d{1,9})-([0-9a-f]{32})\.safetensors")


@dataclass(frozen=True, slots=True)
class Shelved:
    """One file. `conversation`, `model` and `prefix` are digests."""

    path: Path
    conversation: str
    model: str
    length: int  # tokens
    prefix: str
    size: int
    used_at: float  # seconds since 1970


def file_name(conversation: str, model: str, tokens: bytes) -> str:
    """The name of the snapshot after `tokens`; `model` as by `digest`."""
    return f"{tag(conversation)}-{model}-{len(tokens) // 4}-{prefix_of(tokens)}.safetensors"


def tag(conversation: str) -> str:
    """How names call a conversation."""
    return digest(conversation) if conversation else NOBODY


def digest(text: str) -> str:
    """Sixteen characters for a text of any length."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def prefix_of(tokens: bytes) -> str:
    """The digest of tokens."""
    return hashlib.sha256(tokens).hexdigest()[:32]


def shelved(folder: Path) -> list[Shelved]:
    """What lies in the folder, the longest unused first."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as files:
        for file in files:
            match = _NAME.fullmatch(file.name)
            if match is None:
                continue
            with contextlib.suppress(OSError):  # it has gone
                stat = file.stat(follow_symlinks=False)
                conversation, model, length, prefix = match.groups()
                path = Path(file.path)
                of = conversation, model, int(length), prefix
                found.append(Shelved(path, *of, stat.st_size, stat.st_mtime))
    return sorted(found, key=lambda each: each.used_at)


def beginnings(files: Iterable[Shelved], model: str, tokens: bytes) -> list[Shelved]:
    """The model's files whose tokens `tokens` begin with, the shortest first."""
    mine = sorted((f for f in files if f.model == model), key=lambda file: file.length)
    found, read, running = [], 0, hashlib.sha256()
    for file in mine:
        end = 4 * file.length
        if end > len(tokens):
            break
        running.update(tokens[read:end])
        read = end
        if running.hexdigest()[:32] == file.prefix:
            found.append(file)
    return found


def tidy(folder: Path, budget_bytes: int, now: float | None = None) -> None:
    """Delete what is old, what is too many, and what writers that were killed have left."""
    now = time.time() if now is None else now
    _sweep(folder, now)
    total, counts = 0, Counter[str]()
    for file in reversed(shelved(folder)):
        fits = total + file.size <= budget_bytes
        few = counts[file.conversation] < PER_CONVERSATION or file.conversation == NOBODY
        if fits and few and now - file.used_at < KEPT_S:
            total += file.size
            counts[file.conversation] += 1
        else:
            remove(file.path)


def forget(folder: Path, conversations: Iterable[str]) -> None:
    """Delete all that was kept of these conversations."""
    tags = {tag(conversation) for conversation in conversations}
    for file in shelved(folder):
        if file.conversation in tags:
            remove(file.path)


def remove(path: Path) -> None:
    """Delete a file, if it is there and can be."""
    with contextlib.suppress(OSError):
        path.unlink()


def _sweep(folder: Path, now: float) -> None:
    for path in folder.glob(".*.safetensors"):
        with contextlib.suppress(OSError):
            if now - path.stat().st_mtime > ABANDONED_S:
                path.unlink()
