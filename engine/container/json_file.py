"""JSON objects from files that nobody vouches for, and their durable writing.

A file is read whole only below a limit. Duplicate keys are refused: two readers could see two
different files.
"""

import json
import reprlib
from collections import Counter
from pathlib import Path
from typing import Any

from engine.container.durable import replace_file
from engine.container.files import REDOWNLOAD, read_bytes
from engine.errors import BadContainer

_brief = reprlib.Repr()
_brief.maxstring = _brief.maxother = 100  # the longest real tensor names stay whole

LARGEST_JSON = 16 << 20  # bytes; the largest real one, an index of 80B, has under 10 MB


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in `path`. Raises BadContainer naming the file."""
    return parse_object(read_bytes(path, LARGEST_JSON), str(path))


def parse_object(raw: bytes, name: str) -> dict[str, Any]:
    """Parse UTF-8 JSON whose top is an object; `name` is what errors call it."""
    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise BadContainer(f"{name} is not readable JSON: {error}.", REDOWNLOAD) from error
    if not isinstance(value, dict):
        raise BadContainer(f"{name} is not a JSON object.", REDOWNLOAD)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {shown(twice)} stands twice")
    return found


def shown(value: object) -> str:
    """A hostile value, cut to what a sentence can hold."""
    return _brief.repr(value)


def whole_number(
    data: dict[str, Any], key: str, name: str, *, least: int = 0, most: int = 2**62
) -> int:
    """An integer field within bounds. Raises BadContainer naming file, key and value."""
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise BadContainer(
            f"{name}: {key} is {shown(value)}, expected a whole number from {least} to {most}.",
            REDOWNLOAD,
        )
    return value


def encode(value: object) -> bytes:
    """Readable JSON with sorted keys, as every file of a container is written."""
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()


def write_object(path: Path, value: object) -> None:
    """Write JSON so that after a crash the file is the old one or the new one."""
    replace_file(path, encode(value))
