"""Folder: a model's folder on this machine, read as if it were far away. Satisfies `Remote`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.container.checkpoint import source_name
from engine.container.container import SIDECAR
from engine.container.files import chunks, file_size, names_in
from engine.container.remote import Absent, PastTheEnd, RemoteFile

_BELOW = "packed_experts"  # the only folder inside a container


class Folder:
    """Files of `path` and of the one folder that a container has. Links are followed."""

    host = ""
    commit = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files = dict(_files(path))

    @property
    def name(self) -> str:
        """owner/name for a folder of the hub's cache, else the folder's name."""
        return source_name(self.path)

    @contextmanager
    def stream(
        self, name: str, start: int = 0, stop: int | None = None
    ) -> Iterator["FolderStream"]:
        """See `Remote`."""
        if name not in self.files:
            raise Absent(name)
        size = file_size(self.path / name)
        if start > size:
            raise PastTheEnd
        yield FolderStream(self.path / name, size, start, size if stop is None else stop)


class FolderStream:
    """Bytes of a local file. Satisfies `Stream`."""

    def __init__(self, path: Path, size: int, start: int, stop: int) -> None:
        self.size = size
        self._path = path
        self._range = (start, min(stop, size))

    def __iter__(self) -> Iterator[bytes]:
        for _, part in chunks(self._path, *self._range):
            yield bytes(part)


def _files(path: Path) -> Iterator[tuple[str, RemoteFile]]:
    names = [name for name in names_in(path) if not name.startswith(SIDECAR)]
    if (path / _BELOW).is_dir():
        names += [f"{_BELOW}/{name}" for name in names_in(path / _BELOW)]
    for name in sorted(names):
        if os.path.isfile(path / name):
            yield name, RemoteFile(size=file_size(path / name))
