"""Which models stand on this machine's disks, by looking into the folders where they may be.

A model is a folder with a container's manifest. Reads names only; whether a container is whole is
the engine's to say when it is loaded. A folder that is away, or may not be read, holds none.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.container.container import JOURNAL

DEMO = Path(__file__).parents[1] / "resources" / "demo.qpack"
DEMO_NAME = "Martlet Mini"

_MANIFEST = "manifest.json"
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
