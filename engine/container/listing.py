"""A hub's list of files, read as hostile input. Pure: it sees what the hub's library parsed."""

import re
from collections.abc import Iterable
from typing import Any

from engine.container.json_file import shown
from engine.container.manifest import check_key
from engine.container.remote import RemoteFile
from engine.errors import BadContainer

LARGEST_FILE = 1 << 42  # bytes; a size beyond is a lie
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SHA1 = re.compile(r"[0-9a-f]{40}")
_DISTRUST = "Do not use this model."


def listed_files(siblings: Iterable[Any], id: str) -> dict[str, RemoteFile]:
    """All files of the model `id`, by names that stay in their folder. Raises BadContainer."""
    where = f"{id}'s list of files"
    found = {}
    for sibling in siblings:
        name, lfs = sibling.rfilename, sibling.lfs
        if not isinstance(name, str):
            raise BadContainer(f"{where} names {shown(name)}.", _DISTRUST)
        found[check_key(name, where)] = RemoteFile(
            size=_size(lfs.size if lfs else sibling.size, where),
            sha256=_matching(_SHA256, lfs.sha256 if lfs else None),
            git_sha1=_matching(_SHA1, None if lfs else sibling.blob_id),
        )
    return found


def licence(tags: object) -> str:
    """What the hub's tags say of it; "": nothing."""
    for tag in tags if isinstance(tags, list) else ():
        if isinstance(tag, str) and tag.startswith("license:"):
            return tag.removeprefix("license:")[:60]
    return ""


def _size(value: object, where: str) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= LARGEST_FILE:
        raise BadContainer(f"{where} has a size of {shown(value)}.", _DISTRUST)
    return value


def _matching(form: re.Pattern[str], value: object) -> str | None:
    return value if isinstance(value, str) and form.fullmatch(value) else None
