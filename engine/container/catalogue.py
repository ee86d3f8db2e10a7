"""The catalogue: models that are known to run, shipped with the program and read without a network.

Figures are computed from the models' published configs; sizes are of the containers as installed.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from engine.container.fit import ModelShape
from engine.container.json_file import read_object
from engine.records import from_json

CATALOGUE = Path(__file__).parents[2] / "resources" / "catalogue.json"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """A model to offer. `source` and `mirrors` are what a Start names."""

    id: str  # what the terminal calls it
    name: str  # "Qwen3.6 35B-A3B"
    variant: str  # "4-bit"
    source: str
    mirrors: tuple[str, ...]
    kind: Literal["container", "checkpoint"]
    family: str
    bits: int
    download_bytes: int
    context_length: int
    licence: str
    thinks: bool
    good_at: tuple[str, ...]
    shape: ModelShape

    @property
    def floor_bytes(self) -> int:
        """The least memory it runs in."""
        return self.shape.floor_bytes


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The file, as it stands."""

    version: int
    models: tuple[Entry, ...]


@cache
def load_catalogue() -> Catalogue:
    """All entries. Raises BadContainer or BadRecord where the program itself is damaged."""
    return from_json(Catalogue, read_object(CATALOGUE))


def find_entry(id: str) -> Entry | None:
    """The entry of that id."""
    return next((entry for entry in load_catalogue().models if entry.id == id), None)


def mirrors_of(source: str) -> tuple[str, ...]:
    """Where else the catalogue's model from `source` can be had."""
    return next((entry.mirrors for entry in load_catalogue().models if entry.source == source), ())
