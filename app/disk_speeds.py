"""DiskSpeeds: how fast disks read, by the place where they are mounted, kept in a small file.

A file that is damaged says nothing; a measurement is quickly done again.
"""

import json
import logging
import math
from pathlib import Path

from app.atomic_file import write_atomically
from engine.container.volume import volume_of

log = logging.getLogger(__name__)


def kept_speed(file: Path, folder: Path) -> float | None:
    """Bytes a second of the disk on which `folder` is or would be; None where not measured."""
    try:
        speed = _read(file).get(_place(folder))
    except OSError as error:
        log.warning("the disk of %s cannot be told: %s", folder, error)
        return None
    return speed if isinstance(speed, float) and math.isfinite(speed) and speed > 0 else None


def keep_speed(file: Path, folder: Path, bytes_per_s: float) -> None:
    """Remember it."""
    try:
        write_atomically(file, json.dumps(_read(file) | {_place(folder): bytes_per_s}, indent=1))
    except OSError as error:
        log.warning("the disk's speed cannot be kept: %s", error)


def _place(folder: Path) -> str:
    return str(volume_of(folder).mount)


def _read(file: Path) -> dict[str, object]:
    try:
        found = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        log.warning("%s is damaged: %s", file, error)
        return {}
    return found if isinstance(found, dict) else {}
