"""Installed models: what stands in the models folders, and what is wrong with what cannot be used.

Folders are searched at any depth and links followed; nothing is kept between two looks, so that a
disk that comes back brings its models with it. Who remembers models names them as `known`.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.container.checkpoint import INDEX, weight_files
from engine.container.container import (
    CONFIG,
    JOURNAL,
    MANIFEST,
    Container,
    open_container,
)
from engine.container.files import names_in
from engine.container.fit import ModelShape, shape_of
from engine.container.json_file import read_object
from engine.container.library import SUFFIX
from engine.container.manifest import Manifest, parse_manifest
from engine.container.origin import read_origin
from engine.container.removal import disk_bytes
from engine.container.volume import place_name
from engine.errors import BadContainer, MartletError, UnsupportedModel

MOST_FOLDERS = 10_000  # looked at; a models folder that is a home folder must not take minutes
DEEPEST = 8

State = Literal["ready", "incomplete", "broken", "unsupported", "checkpoint", "away"]


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model's folder. `message` says what is wrong or missing; "" where it is ready."""

    path: Path
    name: str
    state: State
    message: str
    disk_bytes: int
    total_bytes: int  # that it would have, were it whole; 0: unknown
    source: str  # where it came from; "": unknown
    context_length: int = 0
    bits: int = 0
    shape: ModelShape | None = None  # of one that is ready


def installed_models(
    folders: Sequence[Path], known: Iterable[Path] = ()
) -> tuple[InstalledModel, ...]:
    """Every model in `folders` by name, and those of `known` whose place is away for now."""
    found: dict[Path, InstalledModel] = {}
    for folder in folders:
        for path in model_folders(folder):
            found.setdefault(path, look_at(path))
    for path in known:
        if path not in found and is_away(path, folders):
            found[path] = _away(path)
    return tuple(sorted(found.values(), key=lambda model: (model.name.casefold(), model.path)))


def model_folders(folder: Path) -> Iterator[Path]:
    """The models' folders below `folder`, or itself; and links to models that lead nowhere."""
    seen: set[tuple[int, int]] = set()
    waiting = [(folder, 0)]
    while waiting and len(seen) < MOST_FOLDERS:
        path, depth = waiting.pop()
        try:
            names = names_in(path)
            status = path.stat()
        except (MartletError, OSError):
            if path.is_symlink() and path.suffix == SUFFIX:
                yield path
            continue
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        if _is_model(names):
            yield path
        elif depth < DEEPEST:
            waiting += [(path / name, depth + 1) for name in sorted(names, reverse=True)
                        if not name.startswith(".") and _may_lead_on(path / name)]  # fmt: skip


def _may_lead_on(path: Path) -> bool:
    return path.is_dir() or path.is_symlink()


def _is_model(names: frozenset[str]) -> bool:
    if names & {JOURNAL, "packed_experts"} or {MANIFEST, CONFIG} <= names:
        return True
    return CONFIG in names and (INDEX in names or bool(weight_files(names)))


def look_at(path: Path) -> InstalledModel:
    """What the model in `path` is, and whether it can be used. Never raises for what it finds."""
    try:
        names = names_in(path)
        if MANIFEST not in names and not names & {JOURNAL, "packed_experts"}:
            return _checkpoint(path)
        if MANIFEST not in names and JOURNAL in names:
            return _incomplete(path)
        return _ready(open_container(path))
    except UnsupportedModel as error:
        return _faulty(path, "unsupported", error)
    except MartletError as error:
        if path.is_symlink() and not path.exists():
            return _away(path)
        return _faulty(path, "broken", error)
    except OSError as error:  # it changes while we look
        return _faulty(path, "broken", MartletError(f"{path} cannot be read: {error.strerror}."))


def is_away(path: Path, folders: Sequence[Path]) -> bool:
    """Whether `path` is missing together with the place it was in, and not deleted."""
    if os.path.lexists(path):
        return False
    roots = [folder for folder in folders if path.is_relative_to(folder)]
    return not any(root.is_dir() for root in roots or [path.parent])


def _ready(container: Container) -> InstalledModel:
    shape = shape_of(
        container.config, container.layout, container.dense_bytes, container.total_bytes
    )
    origin = read_origin(container.path)
    return InstalledModel(
        path=container.path,
        name=container.path.stem,
        state="ready",
        message="",
        disk_bytes=container.total_bytes,
        total_bytes=container.total_bytes,
        source=origin.source if origin else container.manifest.source,
        context_length=container.config.context_length,
        bits=container.expert_bits,
        shape=shape,
    )


def _incomplete(path: Path) -> InstalledModel:
    origin, there = read_origin(path), disk_bytes(path)
    total = origin.total_bytes if origin else 0
    so_far = f"{_gb(there)} of {_gb(total)}" if total else _gb(there)
    source = origin.source if origin else ""
    return InstalledModel(path, path.stem, "incomplete", f"{so_far} here.", there, total, source)


def _checkpoint(path: Path) -> InstalledModel:
    size = disk_bytes(path)
    message = "An MLX checkpoint: Martlet can make a model of it."
    return InstalledModel(path, path.name, "checkpoint", message, size, size, "")


def _faulty(path: Path, state: State, error: MartletError) -> InstalledModel:
    manifest, origin = _manifest(path), read_origin(path)
    total = sum(manifest.files.values()) if manifest else 0
    source = origin.source if origin else manifest.source if manifest else ""
    message = error.message
    if manifest and state == "broken" and (short := _missing_bytes(path, manifest)):
        message = f"{_gb(total - short)} of {_gb(total)} here. {message}"
    return InstalledModel(path, path.stem, state, message, disk_bytes(path), total, source)


def _missing_bytes(path: Path, manifest: Manifest) -> int:
    """What files lack of the sizes that the manifest names."""
    missing = 0
    for name, size in manifest.files.items():
        file = path / name
        missing += max(0, size - (file.stat().st_size if file.is_file() else 0))
    return missing


def _manifest(path: Path) -> Manifest | None:
    try:
        return parse_manifest(read_object(path / MANIFEST), str(path / MANIFEST))
    except (BadContainer, UnsupportedModel):
        return None


def _away(path: Path) -> InstalledModel:
    place = os.path.realpath(path) if path.is_symlink() else str(path)
    message = f"On “{place_name(Path(place).parent)}”, which is not connected."
    return InstalledModel(path, path.stem, "away", message, 0, 0, "")


def _gb(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 10**8 else f"{count / 1e6:.1f} MB"
