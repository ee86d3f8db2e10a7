"""Which models stand on this machine's disks, by looking into the folders where they may be.

A model is a folder with a container's manifest. Reads names only; whether a container is whole is
the engine's to say when it is loaded. A folder that is away, or may not be read, holds none.
"""

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from engine.container.container import JOURNAL
from engine.container.origin import read_origin

DEMO = Path(__file__).parents[1] / "resources" / "demo.qpack"
DEMO_NAME = "Martlet Mini"

_MANIFEST = "manifest.json"
_NAME = re.compile(r"[^\w.+-]+")  # what no name of a folder should hold
_LONGEST_NAME = 100
_DEPTH = 3  # folders below one of the person's model folders


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model that can be chosen."""

    name: str
    path: str
    is_demo: bool = False


def installed_models(folders: Iterable[Path]) -> tuple[InstalledModel, ...]:
    """The built-in model, then those in `folders`, by name; each once."""
    found = {path.resolve() for folder in folders for path in _containers(folder, _DEPTH)}
    models = [InstalledModel(model_name(str(path)), str(path)) for path in found]
    models.sort(key=lambda model: (model.name.casefold(), model.path))
    demo = [InstalledModel(DEMO_NAME, str(DEMO), is_demo=True)] if is_model(DEMO) else []
    return (*demo, *models)


def is_model(path: Path) -> bool:
    """Whether a container's manifest lies in `path`, and nothing is still on its way."""
    return (path / _MANIFEST).is_file() and not (path / JOURNAL).exists()


def model_name(path: str) -> str:
    """What to call the model at `path`: its folder, without the ending."""
    return DEMO_NAME if Path(path) == DEMO else Path(path).name.removesuffix(".qpack")


def target_for(folder: Path, source: str, taken: Container[str] = ()) -> Path:
    """The folder in `folder` for a model from `source`: one that holds it, or else a new one."""
    name = _NAME.sub("-", source.rstrip("/").rpartition("/")[2]).strip("-.") or "model"
    name = name.removesuffix(".qpack").removesuffix("-qpack")[:_LONGEST_NAME]
    for number in count(1):
        target = folder / (f"{name}.qpack" if number == 1 else f"{name} {number}.qpack")
        origin = read_origin(target)
        is_ours = not target.exists() or (origin is not None and origin.source == source)
        if is_ours and str(target) not in taken:
            return target
    raise AssertionError("there are numbers enough")


def _containers(folder: Path, depth: int) -> Iterator[Path]:
    try:
        if is_model(folder):
            yield folder
        elif depth:
            for child in folder.iterdir():
                if child.is_dir() and not child.name.startswith("."):
                    yield from _containers(child, depth - 1)
    except OSError:
        return  # away or forbidden
