"""Source: what a person names, and the remote it stands for."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from engine.container.checkpoint import INDEX, weight_files
from engine.container.container import CONFIG, LAYOUT, MANIFEST
from engine.container.hub import Hub, HubRepository, Mirror, check_id, parse_link
from engine.container.json_file import shown
from engine.container.remote import Remote
from engine.errors import BadOption, UnsupportedModel
from engine.install.folder import Folder


@dataclass(frozen=True, slots=True)
class HubSource:
    """A model on the hub. `folder`: the container's, where a repository holds several."""

    id: str
    revision: str | None
    folder: str


@dataclass(frozen=True, slots=True)
class MirrorSource:
    """An address below which a container's files lie."""

    address: str


@dataclass(frozen=True, slots=True)
class FolderSource:
    """A folder of this machine."""

    path: Path


Source: TypeAlias = HubSource | MirrorSource | FolderSource


def parse_source(text: str) -> Source:
    """OWNER/NAME, OWNER/NAME/FOLDER, a link to the hub, an address, or a folder.

    Raises BadOption.
    """
    if text.startswith(("http://", "https://", "hf://")):
        link = parse_link(text)
        return HubSource(*link) if link else MirrorSource(_address(text))
    path = Path(os.path.expanduser(text))
    if text.startswith(("/", "~", "./", "../")) or (text and path.is_dir()):
        return FolderSource(Path(os.path.abspath(path)))
    id, revision = text.partition("@")[::2]
    owner_and_name = "/".join(id.split("/")[:2])
    folder = id.removeprefix(owner_and_name).strip("/")
    return HubSource(check_id(owner_and_name), revision or None, folder)


def canonical(source: Source) -> str:
    """One name for one model, however it was named; without a revision."""
    match source:
        case HubSource(id, _, folder):
            return f"{id}/{folder}" if folder else id
        case MirrorSource(address):
            return address
        case FolderSource(path):
            return str(path)


def exact(source: Source) -> str:
    """The one name, with the revision where one was named: another Start can take it."""
    revision = source.revision if isinstance(source, HubSource) else None
    return f"{canonical(source)}@{revision}" if revision else canonical(source)


def _address(text: str) -> str:
    parts = urlsplit(text)
    if parts.username or parts.password or parts.query or parts.fragment or not parts.hostname:
        raise BadOption(
            f"{parts.hostname or 'The address'} is named with more than a path.",
            "Give a plain address, without a name, a password or a question mark.",
        )
    return text.rstrip("/")


def open_remote(source: Source, hub: Hub, commit: str | None) -> Remote:
    """Ask what the source holds. `commit`: an earlier run began with it.

    Raises Interrupted or a MartletError.
    """
    match source:
        case MirrorSource(address):
            return Mirror(address, hub.stall_s)
        case FolderSource(path):
            return Folder(path)
        case HubSource(id, revision, folder):
            repository = hub.repository(id, commit or revision)
            return repository.below(folder or _only_container(repository))


def _only_container(repository: HubRepository) -> str:
    """The one folder that holds a container; "" where the model lies at the top."""
    names = repository.files
    if LAYOUT in names or INDEX in names or weight_files(names):
        return ""
    found = [
        name.removesuffix(f"/{LAYOUT}")
        for name in names
        if name.endswith(f"/{LAYOUT}") and f"{name.removesuffix(LAYOUT)}{MANIFEST}" in names
    ]
    if len(found) > 1:
        raise BadOption(
            f"{repository.name} holds {len(found)} models.",
            f"Name one of them, like {repository.name}/{min(found)}.",
        )
    return found[0] if found else ""


def is_container(remote: Remote) -> bool:
    """Whether the remote holds a container rather than a checkpoint.

    Raises UnsupportedModel where it holds neither. A plain address can only hold a container.
    """
    names = remote.files
    if names is None or (MANIFEST in names and LAYOUT in names):
        return True
    if CONFIG in names and (INDEX in names or weight_files(names)):
        return False
    raise UnsupportedModel(
        f"{shown(remote.name)} holds no model that Martlet knows.",
        "Choose a .qpack container or an MLX checkpoint.",
    )
