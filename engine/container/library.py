"""Where models stand: a path, a name in the models folders, or the built-in one."""

import os
from pathlib import Path

import platformdirs

from engine.errors import ModelNotFound

VARIABLE = "MARTLET_MODELS"  # folders, separated as in PATH, in place of the usual one
BUILT_IN = "demo"
SUFFIX = ".qpack"


def models_folders() -> tuple[Path, ...]:
    """The folders in which names are looked up; a new model goes into the first."""
    named = [_expanded(part) for part in os.environ.get(VARIABLE, "").split(os.pathsep) if part]
    return tuple(named) or (Path(platformdirs.user_data_dir("Martlet", False)) / "models",)


def built_in_model() -> Path:
    """The small model that comes with the program."""
    return Path(__file__).parents[2] / "resources" / f"{BUILT_IN}{SUFFIX}"


def find_model(name_or_path: str | Path) -> Path:
    """The folder of a model. Raises ModelNotFound naming the places that were looked at.

    `demo` is the built-in model; write `./demo` for a folder of that name.
    """
    name = str(name_or_path)
    places = list(_places(name))
    for place in places:
        if os.path.isdir(place):  # unlike Path.is_dir, False for what no system call takes
            return place
    looked = ", ".join(map(str, places))
    raise ModelNotFound(
        f"There is no model {name!r}; looked at {looked}.",
        f"Give a path, or put the model into {models_folders()[0]}.",
    )


def _places(name: str) -> list[Path]:
    if name == BUILT_IN:
        return [built_in_model()]
    places = [_expanded(name)]
    if os.sep not in name:
        folders = models_folders()
        places += [folder / candidate for folder in folders for candidate in (name, name + SUFFIX)]
    return places


def _expanded(text: str) -> Path:
    return Path(os.path.expanduser(text))  # Path.expanduser raises for users that do not exist
