"""Target: the folder that a model goes into, found from its source's one name alone.

Terminal and application ask here, so that either goes on with what the other began. Knows no
network: see `engine.install.source` for what a name may be.
"""

import re
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

from engine.container.container import SIDECAR
from engine.container.files import names_in
from engine.container.library import SUFFIX
from engine.container.origin import read_origin
from engine.errors import MartletError

_FOREIGN = re.compile(r"[^\w.+-]")  # what no name of a folder should hold
_ENDINGS = (SUFFIX, "-qpack", "_qpack")
_LONGEST_BYTES = 200  # a folder's name may have 255


def bare(source: str) -> str:
    """A source without its revision: what an installation notes as its origin."""
    is_id = not source.startswith(("/", "http://", "https://"))
    return source.partition("@")[0] if is_id else source


def model_name(source: str) -> str:
    """The name of the folder for a model from `source`: the last part of it, made harmless."""
    path = urlsplit(source).path if source.startswith(("http://", "https://")) else bare(source)
    name = _FOREIGN.sub("-", path.rstrip("/").rpartition("/")[2]).strip(".-")
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    short = name.encode()[:_LONGEST_BYTES].decode(errors="ignore").strip(".-")
    return f"{short or 'model'}{SUFFIX}"


def target_for(folder: Path, source: str, taken: Iterable[str] = ()) -> Path:
    """The folder in `folder` that holds the model from `source`, or else a new one.

    `taken`: paths that others are about to make. A disk may not tell capitals from small letters.
    """
    name = Path(model_name(source)).stem
    others = {path.casefold() for path in taken}
    for number in count(1):
        target = folder / (f"{name}{SUFFIX}" if number == 1 else f"{name} {number}{SUFFIX}")
        if str(target).casefold() not in others and _is_for(target, source):
            return target
    raise AssertionError("there are numbers enough")


def others_in(folder: Path) -> frozenset[str]:
    """What stands in a folder beside an installation's own notes."""
    return frozenset(n for n in names_in(folder) if not n.startswith((SIDECAR, ".DS_Store")))


def _is_for(target: Path, source: str) -> bool:
    if not target.is_dir():
        return not target.exists()
    origin = read_origin(target)
    if origin is not None:
        return origin.source == bare(source)
    try:
        return not others_in(target)  # an installation was killed before it noted anything
    except MartletError:
        return False  # it cannot be read
