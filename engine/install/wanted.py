"""Which files make a container, from what strangers say of it. Pure: nothing is fetched here.

A manifest may list only the large files, and a mirror lists nothing else; the hub lists all it has.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar
from unicodedata import normalize

from engine.container.container import CONFIG, DENSE, LAYOUT, MANIFEST, layer_name
from engine.container.files import REDOWNLOAD
from engine.container.hashes import HASHES
from engine.container.json_file import shown
from engine.container.layout import ExpertLayout
from engine.container.manifest import Manifest
from engine.container.remote import RemoteFile
from engine.container.repack import SMALL_FILES
from engine.errors import BadContainer

MOST_FILES = 10_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file to fetch. `optional`: a source without it is no worse."""

    name: str
    size: int | None
    sha256: str | None
    git_sha1: str | None
    optional: bool


def wanted_files(
    manifest: Manifest,
    layout: ExpertLayout,
    listed: Mapping[str, RemoteFile] | None,
    hashes: Mapping[str, str],
    where: str,
) -> tuple[Wanted, ...]:
    """All files but the manifest, small ones first, the dense file before the experts'.

    Raises BadContainer where names could not stand in one folder or the sources contradict.
    """
    layers = dict.fromkeys(map(layer_name, range(layout.layer_count)), layout.layer_bytes)
    sizes: dict[str, int | None] = {CONFIG: None, LAYOUT: None, DENSE: None, **manifest.files}
    for name, size in layers.items():
        _agree(f"{where}: the size of {name}", sizes.setdefault(name, size), size)
    needed = set(sizes)
    sizes |= dict.fromkeys(_small(listed, sizes.keys()))
    sizes.pop(MANIFEST, None)
    check_names(sizes, where)
    files = [_wanted(name, sizes[name], name in needed, listed, hashes, where) for name in sizes]
    return tuple(sorted(files, key=lambda f: (f.name in layers, f.name == DENSE, f.name)))


def _small(listed: Mapping[str, RemoteFile] | None, known: Collection[str]) -> list[str]:
    """The optional files that the source has, or may have."""
    names = (*SMALL_FILES, HASHES)
    return [n for n in names if n not in known and (listed is None or n in listed)]


def _wanted(
    name: str,
    size: int | None,
    needed: bool,
    listed: Mapping[str, RemoteFile] | None,
    hashes: Mapping[str, str],
    where: str,
) -> Wanted:
    remote = RemoteFile()
    if listed is not None:
        if name not in listed:
            raise BadContainer(f"{where} lacks {shown(name)}.", "Ask its publisher.")
        remote = listed[name]
        size = _agree(f"{where}: the size of {name}", remote.size, size)
    sha256 = _agree(f"{where}: the SHA-256 of {name}", remote.sha256, hashes.get(name))
    if name == DENSE and size is None:
        raise BadContainer(f"{where}: {MANIFEST} does not list {DENSE}.", "Ask its publisher.")
    return Wanted(name, size, sha256, remote.git_sha1, not needed)


def _agree(what: str, first: T | None, second: T | None) -> T | None:
    if first is not None and second is not None and first != second:
        raise BadContainer(
            f"{what} is {first} in one place and {second} in another.", "Ask its publisher."
        )
    return second if first is None else first


def check_names(names: Mapping[str, object], where: str) -> None:
    """Raise BadContainer for names that are hidden, or that one folder cannot hold together."""
    if len(names) > MOST_FILES:
        raise BadContainer(f"{where} lists {len(names)} files.", REDOWNLOAD)
    seen: dict[str, str] = {}
    for name in names:
        if any(part.startswith(".") for part in name.split("/")):
            raise BadContainer(f"{where} lists the hidden file {shown(name)}.", REDOWNLOAD)
        folded = normalize("NFC", name).casefold()  # as the Mac's file system compares
        if (other := seen.setdefault(folded, name)) != name:
            raise BadContainer(f"{where} lists both {shown(other)} and {shown(name)}.", REDOWNLOAD)
    for folded, name in seen.items():
        above = folded
        while "/" in above:
            above = above.rpartition("/")[0]
            if above in seen:
                raise BadContainer(
                    f"{where} lists {shown(name)} below the file {shown(seen[above])}.", REDOWNLOAD
                )
