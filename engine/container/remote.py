"""Remote: where the files of a model can be had, and what may go wrong on the way.

The contract between what fetches and what knows a network; it knows none itself. Names and sizes
come from strangers: `hub` checks them before they get here.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file as its source lists it. What the source does not say is None."""

    size: int | None = None
    sha256: str | None = None  # lower-case hex; the hub knows it of large files
    git_sha1: str | None = None  # of "blob SIZE\0" and the bytes; the hub knows it of small ones


class Stream(Protocol):
    """Bytes on their way. They may end early: whoever reads counts."""

    @property
    def size(self) -> int | None:
        """Of the whole file, as this answer says."""

    def __iter__(self) -> Iterator[bytes]:
        """The bytes that were asked for. Raises Interrupted."""


class Remote(Protocol):
    """A model's files at one exact version."""

    @property
    def name(self) -> str:
        """As manifests and people call it: owner/name, or an address."""

    @property
    def host(self) -> str:
        """Who is asked; "" for a local folder."""

    @property
    def commit(self) -> str | None:
        """The version that every file is of; None where the source knows none."""

    @property
    def files(self) -> Mapping[str, RemoteFile] | None:
        """All files by name; None where the source has no list."""

    def stream(
        self, name: str, start: int = 0, stop: int | None = None
    ) -> AbstractContextManager[Stream]:
        """Bytes `start` to `stop` (None: the end) of a file.

        Raises Interrupted, Absent, PastTheEnd, or a MartletError that no second try can cure.
        """


class Interrupted(Exception):
    """It may work in a moment. `wait_s`: as long as the server wants us to wait."""

    def __init__(self, message: str, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.wait_s = wait_s


class Absent(Exception):
    """The source has no such file."""


class PastTheEnd(Exception):
    """The source's file ends before the bytes that were asked for."""
