"""Journal: which files of a direct download are whole, checked, and safely on the disk."""

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from engine.container.container import JOURNAL
from engine.container.files import names_in
from engine.container.json_file import read_object, write_object
from engine.errors import BadContainer


class Journal:
    """Written anew with every file that is done; its presence marks the folder as unfinished.

    What an earlier run noted counts only for the same `identity` of the source.
    """

    def __init__(self, folder: Path, identity: str, names: Iterable[str]) -> None:
        self._path = folder / JOURNAL
        self._identity = identity
        self._names = sorted(names)
        self._lock = threading.Lock()
        self._verified = _verified(read_journal(folder), identity)

    def sha256(self, name: str) -> str | None:
        """The SHA-256 of a file that is done; None of one that is not."""
        return self._verified.get(name)

    @property
    def sums(self) -> dict[str, str]:
        """The SHA-256 of every file that is done."""
        return dict(self._verified)

    def note(self, name: str, sha256: str) -> None:
        """A file is done."""
        with self._lock:
            self._verified[name] = sha256
            self._write()

    def begin(self) -> None:
        """Mark the folder."""
        with self._lock:
            self._write()

    def _write(self) -> None:
        record = {"source": self._identity, "files": self._names, "verified": self._verified}
        write_object(self._path, record)


def read_journal(folder: Path) -> dict[str, Any]:
    """What a journal holds, of whichever kind; empty where there is none or it is damaged."""
    if JOURNAL not in names_in(folder):
        return {}
    try:
        return read_object(folder / JOURNAL)
    except BadContainer:
        return {}


def _verified(record: dict[str, Any], identity: str) -> dict[str, str]:
    verified = record.get("verified")
    if record.get("source") != identity or not isinstance(verified, dict):
        return {}
    return {name: sha for name, sha in verified.items() if isinstance(sha, str)}
