"""Removal: a model's files go, the manifest first; whatever else lies in the folder stays."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from engine.container.container import CONFIG, DENSE, JOURNAL, LAYOUT, MANIFEST, SIDECAR
from engine.container.durable import TEMPORARY, disk_faults
from engine.container.files import names_in
from engine.container.hashes import HASHES
from engine.container.json_file import read_object
from engine.container.manifest import check_key
from engine.container.repack import SMALL_FILES
from engine.errors import BadContainer, BadOption

_OWN = (MANIFEST, CONFIG, HASHES, LAYOUT, DENSE, *SMALL_FILES)
_EXPERTS = "packed_experts"


@dataclass(frozen=True, slots=True)
class Removal:
    """What a removal gave back, and what it found beside the model and left alone."""

    freed_bytes: int
    kept: tuple[str, ...]


def remove_model(folder: Path) -> Removal:
    """Delete the container in `folder`, complete or not; of a link, the link alone.

    Raises ModelNotFound, BadOption where the folder holds no container, or a disk's fault.
    """
    names = names_in(folder)
    if folder.is_symlink():
        with disk_faults(folder):
            folder.unlink()
        return Removal(0, ())
    if not names & {MANIFEST, JOURNAL, _EXPERTS}:
        raise BadOption(f"{folder} holds no container.", "Delete it in the usual way.")
    return empty(folder)


def empty(folder: Path, spare: frozenset[str] = frozenset()) -> Removal:
    """Delete what a container or its installation put into `folder`, but the names in `spare`."""
    freed = 0
    with disk_faults(folder):
        for path in [folder / name for name in own_names(folder) if name not in spare]:
            freed += _delete(path)
        for inside in (folder / _EXPERTS, folder):
            _remove_if_empty(inside)
    kept = sorted(names_in(folder) - spare) if folder.is_dir() else []
    return Removal(freed, tuple(kept))


def disk_bytes(folder: Path) -> int:
    """What the files below `folder` take; a sparse file takes what is written of it."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # it may just be going away
                total += os.lstat(os.path.join(place, name)).st_blocks * 512
    return total


def own_names(folder: Path) -> Iterator[str]:
    """What a container or its installation put there, whether or not it stands.

    The manifest first: what remains of a removal after a crash is no model.
    """
    yield from dict.fromkeys((*_OWN, *_listed(folder)))
    if (folder / _EXPERTS).is_dir():
        for name in sorted(names_in(folder / _EXPERTS)):
            if name.startswith(("layer_", "layout.json")):
                yield f"{_EXPERTS}/{name}"
    yield from (n for n in sorted(names_in(folder)) if n.startswith(SIDECAR) or n == ".DS_Store")
    yield from (n for n in sorted(names_in(folder)) if n.endswith(TEMPORARY))


def _listed(folder: Path) -> Iterator[str]:
    """Names in the manifest and in the journal that stay in the folder."""
    for source in (MANIFEST, JOURNAL):
        with suppress(BadContainer):
            files = read_object(folder / source).get("files")
            for name in files if isinstance(files, dict | list) else ():
                with suppress(BadContainer):
                    yield check_key(str(name), source)


def _delete(path: Path) -> int:
    """Bytes that came back; 0 where nothing stood there."""
    if path.is_symlink() or path.is_file():
        freed = path.lstat().st_blocks * 512
        path.unlink()
        return freed
    if path.is_dir() and path.name.startswith(SIDECAR):
        freed = disk_bytes(path)
        shutil.rmtree(path)
        return freed
    return 0


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not names_in(folder):
        folder.rmdir()
