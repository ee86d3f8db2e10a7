"""Volume: the disk a folder is on, by the name a person knows, and the room that is left."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

MARGIN_BYTES = 2_000_000_000  # beside a tenth of the model: the system and its swap live there too


@dataclass(frozen=True, slots=True)
class Volume:
    """A mounted disk."""

    mount: Path
    name: str
    free_bytes: int
    total_bytes: int


def volume_of(path: Path) -> Volume:
    """The volume that `path` is or will be on. Raises OSError where the disk fails."""
    there = nearest(path)
    usage = shutil.disk_usage(there)
    mount = there.resolve()
    while not os.path.ismount(mount):
        mount = mount.parent
    return Volume(mount, mount.name or "this disk", usage.free, usage.total)


def wanted_room(model_bytes: int) -> int:
    """What should be free for a model of that size."""
    return model_bytes + model_bytes // 10 + MARGIN_BYTES


def nearest(path: Path) -> Path:
    """The nearest folder above `path` (or itself) that exists."""
    there = Path(os.path.abspath(path))
    while not there.is_dir():
        there = there.parent
    return there


def place_name(path: Path) -> str:
    """What to call the place of a folder that is not there: its disk, where macOS mounts them."""
    mount = _external(path)
    return mount.name if mount else str(path)


def is_unplugged(path: Path) -> bool:
    """Whether macOS would have mounted the disk of `path`, and has not."""
    mount = _external(path)
    return mount is not None and not os.path.ismount(mount)


def _external(path: Path) -> Path | None:
    parts = Path(os.path.abspath(path)).parts
    return Path(*parts[:3]) if len(parts) > 2 and parts[1] == "Volumes" else None
