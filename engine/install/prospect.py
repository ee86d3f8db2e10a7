"""Prospect: what a source's container holds, known before anything is written.

A model that cannot run, or that contradicts itself, is refused here, before hours of waiting.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from engine.config import ModelConfig, parse_config
from engine.container.container import CONFIG, LAYOUT, MANIFEST
from engine.container.hashes import HASHES, parse_hashes
from engine.container.json_file import LARGEST_JSON, parse_object
from engine.container.layout import ExpertLayout, check_layout, parse_layout
from engine.container.manifest import parse_manifest
from engine.container.remote import Remote
from engine.install.site import Site
from engine.install.small import read_listed, read_optional
from engine.install.wanted import Wanted, wanted_files


@dataclass(frozen=True, slots=True)
class Prospect:
    """The files to fetch, and the small ones that are fetched already (the manifest among them)."""

    config: ModelConfig
    layout: ExpertLayout
    files: tuple[Wanted, ...]
    small: Mapping[str, bytes]

    @property
    def total_bytes(self) -> int:
        """Of all files whose size is known."""
        return sum(wanted.size or 0 for wanted in self.files)

    @property
    def identity(self) -> str:
        """Changes when the source holds something else under the same name."""
        return hashlib.sha256(self.small[MANIFEST]).hexdigest()


def look(site: Site, remote: Remote) -> Prospect:
    """Read what the model is. Raises BadContainer, UnsupportedModel or DownloadFailed."""
    where = remote.name
    raw = read_optional(site, remote, HASHES, LARGEST_JSON)
    hashes = parse_hashes(raw, f"{where}/{HASHES}") if raw is not None else {}
    small = {
        name: read_listed(site, remote, name, LARGEST_JSON, hashes.get(name))
        for name in (MANIFEST, CONFIG, LAYOUT)
    }
    if raw is not None:
        small[HASHES] = raw
    parsed = {name: parse_object(data, f"{where}/{name}") for name, data in small.items()}
    manifest = parse_manifest(parsed[MANIFEST], f"{where}/{MANIFEST}")
    config = parse_config(parsed[CONFIG], f"{where}/{CONFIG}")
    layout = parse_layout(parsed[LAYOUT], f"{where}/{LAYOUT}")
    check_layout(layout, config, f"{where}/{LAYOUT}")
    files = wanted_files(manifest, layout, remote.files, hashes, where)
    return Prospect(config, layout, tuple(_sized(wanted, small) for wanted in files), small)


def _sized(wanted: Wanted, small: Mapping[str, bytes]) -> Wanted:
    data = small.get(wanted.name)
    return wanted if data is None else replace(wanted, size=len(data))
