"""Our own tree in a bundle: the files that git knows, as they lie, less what only a build needs."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from bundle.command import run
from bundle.target import Bundle

ROOMS = ("app", "engine", "resources")
NOT_NEEDED = (
    *("engine/native/*.c", "engine/native/*.h", "engine/native/build.py"),
    *("resources/*.icns", "resources/translations/*.ts"),
)


@dataclass(frozen=True, slots=True)
class Revision:
    """What the bundle is made of."""

    version: str
    commit: str  # short; with a plus where files differ from it
    time: int  # of the commit, seconds since 1970: the time of every file


def read_revision(root: Path) -> Revision:
    """Of the checkout at `root`. The version stands in engine/__init__.py alone."""
    line = next(
        line
        for line in (root / "engine" / "__init__.py").read_text().splitlines()
        if line.startswith("__version__")
    )
    commit, time = run(["git", "log", "-1", "--format=%h %ct"], cwd=root).split()
    changed = run(["git", "status", "--porcelain", "--", *ROOMS, "packaging"], cwd=root)
    return Revision(line.split('"')[1], commit + "+" * bool(changed), int(time))


def copy_sources(root: Path, bundle: Bundle) -> None:
    """Into the bundle, laid out as in the repository."""
    for name in _wanted(root):
        to = bundle.source / name
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, to)


def _wanted(root: Path) -> Iterator[str]:
    for name in run(["git", "ls-files", "-z", "--", *ROOMS], cwd=root).split("\0"):
        if name and not any(fnmatch(name, pattern) for pattern in NOT_NEEDED):
            yield name
