"""Origin: where a container came from, kept beside it so that it can go on and be repaired."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.container.container import SIDECAR
from engine.container.files import names_in
from engine.container.json_file import read_object, write_object
from engine.errors import BadContainer, ModelNotFound
from engine.records import BadRecord, from_json, to_json

ORIGIN = f"{SIDECAR}source.json"


@dataclass(frozen=True, slots=True)
class Origin:
    """What a Start named, and what it turned out to be."""

    source: str
    kind: Literal["container", "checkpoint"]
    commit: str = ""  # "": the source has no versions
    total_bytes: int = 0  # to fetch


def read_origin(folder: Path) -> Origin | None:
    """None where the folder has none that can be read."""
    try:
        if ORIGIN not in names_in(folder):
            return None
        return from_json(Origin, read_object(folder / ORIGIN))
    except (ModelNotFound, BadContainer, BadRecord):
        return None


def write_origin(folder: Path, origin: Origin) -> None:
    """Keep it."""
    write_object(folder / ORIGIN, to_json(origin))
