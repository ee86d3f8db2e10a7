"""hashes.json: the SHA-256 of every file of a container, beside the files that it describes."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

from engine.container.files import chunks, file_size, names_in, read_bytes
from engine.container.json_file import LARGEST_JSON, parse_object, shown
from engine.container.manifest import check_key
from engine.errors import BadContainer

HASHES = "hashes.json"


def hash_file(path: Path, advance: Callable[[int], None] = lambda count: None) -> str:
    """Lower-case hex SHA-256 of a file; `advance` hears of the bytes as they are read."""
    digest = hashlib.sha256()
    for _, part in chunks(path, 0, file_size(path)):
        digest.update(part)
        advance(len(part))
    return digest.hexdigest()


def read_hashes(folder: Path) -> dict[str, str] | None:
    """Path -> hex SHA-256 of a container's files; None where it has no hashes.json."""
    if HASHES not in names_in(folder):
        return None
    return parse_hashes(read_bytes(folder / HASHES, LARGEST_JSON), str(folder / HASHES))


def parse_hashes(raw: bytes, name: str) -> dict[str, str]:
    """Check the bytes of a hashes.json; `name` is what errors call it."""
    files = parse_object(raw, name).get("files")
    if not isinstance(files, dict) or not all(isinstance(v, str) for v in files.values()):
        raise BadContainer(f"{name}: files is {shown(files)}.", "Delete it: it is optional.")
    return {check_key(key, name): digest.lower() for key, digest in files.items()}


def dump_hashes(files: Mapping[str, str]) -> dict[str, object]:
    """The JSON form."""
    return {"files": dict(files)}
