"""Repair of a container that was repacked while it came: only what is bad is fetched again.

Its files are no file of the source, so their hashes are those of its own hashes.json; the ranges
that a bad file was made of come again, and the result must have the hash it had.
(A container that was fetched as it is needs no more than another installation over it.)
"""

import os
from collections.abc import Mapping
from functools import partial

from engine.container.container import CONFIG, DENSE, JOURNAL, LAYOUT, MANIFEST, open_container
from engine.container.durable import replace_file, sync_path, write_at
from engine.container.files import file_size
from engine.container.hashes import HASHES, hash_file, read_hashes
from engine.container.json_file import encode, write_object
from engine.container.layout import dump_layout
from engine.container.manifest import dump_manifest
from engine.container.origin import Origin
from engine.container.plan import Move
from engine.container.remote import PastTheEnd, Remote
from engine.container.repack import LARGEST_SMALL_FILE
from engine.errors import BadCheckpoint, BadContainer
from engine.install.crew import work
from engine.install.raw import RawProspect
from engine.install.site import HANDS, Site
from engine.install.small import always_damaged, read_listed


class RoutedRepair:
    """Makes the container in the site's folder, which is claimed, whole again."""

    def __init__(self, site: Site, remote: Remote, prospect: RawProspect) -> None:
        self._site = site
        self._remote = remote
        self._prospect = prospect
        self._fetcher = site.fetcher(remote)
        self._sizes = prospect.plan.sizes

    def run(self) -> None:
        """Look at every byte, fetch what is bad, promote. May be run again after anything."""
        hashes = self._hashes()
        self._demote()
        bad = self._bad(hashes)
        moves = {
            shard: [move for move in moves if move.target in bad]
            for shard, moves in self._prospect.plan.moves.items()
        }
        total = sum(move.size for several in moves.values() for move in several)
        commit = self._remote.commit or ""
        origin = Origin(self._site.source, "checkpoint", commit, total)
        self._site.check_room(total, 0)
        self._site.keep(origin)
        self._site.begin(origin, self._remote.host, 0)
        self._presize(bad)
        jobs = [partial(self._fetch, shard, several) for shard, several in moves.items() if several]
        work(jobs, HANDS, self._site.stop)
        self._write_small(bad - self._sizes.keys())
        self._check(bad, hashes)
        self._promote(hashes)

    def _hashes(self) -> dict[str, str]:
        hashes = read_hashes(self._site.folder)
        if hashes is None or not self._sizes.keys() <= hashes.keys():
            raise BadContainer(
                f"{self._site.folder} has no complete {HASHES}: nothing says what is bad.",
                "Delete the model and download it again.",
            )
        return hashes

    def _demote(self) -> None:
        """From here to the end it is no model."""
        folder = self._site.folder
        with self._site.writing():
            write_object(folder / JOURNAL, {"repair": True})
            (folder / MANIFEST).unlink(missing_ok=True)
            sync_path(folder)

    def _bad(self, hashes: Mapping[str, str]) -> set[str]:
        """The names of files that are not what they were. The manifest is made anew anyway."""
        names = hashes.keys() - {MANIFEST}
        total = sum(self._size(name) for name in names)
        self._site.tally.begin("verifying", total)
        return {name for name in names if not self._is_right(name, hashes[name])}

    def _size(self, name: str) -> int:
        path = self._site.folder / name
        return file_size(path) if path.is_file() else 0

    def _is_right(self, name: str, expected: str) -> bool:
        size = self._sizes.get(name)
        if not (self._site.folder / name).is_file() or size not in (None, self._size(name)):
            return False
        return hash_file(self._site.folder / name, self._hashed) == expected

    def _hashed(self, count: int) -> None:
        self._site.stop.check()
        self._site.tally.moved(count)

    def _presize(self, bad: set[str]) -> None:
        with self._site.writing():
            for name in bad & self._sizes.keys():
                path = self._site.folder / name
                path.parent.mkdir(exist_ok=True)
                path.touch()
                os.truncate(path, self._sizes[name])
            if DENSE in bad:
                start = memoryview(self._prospect.plan.dense_start)
                write_at(self._site.folder / DENSE, [(0, start)])

    def _fetch(self, shard: str, moves: list[Move]) -> None:
        """One job: what bad files take from a shard."""
        size = self._prospect.shards[shard].size
        try:
            for move in moves:
                at = move.offset
                for part in self._fetcher.chunks(shard, at, move.end, size):
                    data = memoryview(part)
                    self._put(move, at, data)
                    at += len(data)
        except PastTheEnd as error:
            raise BadCheckpoint(f"{shard} is shorter than listed.", "Ask its publisher.") from error

    def _put(self, move: Move, at: int, data: memoryview) -> None:
        pieces = move.pieces(at, at + len(data))
        parts = [(target, data[start - at : stop - at]) for target, start, stop in pieces]
        with self._site.writing():
            write_at(self._site.folder / move.target, parts)

    def _write_small(self, names: set[str]) -> None:
        for name in names:
            with self._site.writing():
                replace_file(self._site.folder / name, self._small(name))

    def _small(self, name: str) -> bytes:
        if name == LAYOUT:
            return encode(dump_layout(self._prospect.plan.layout))
        if name == CONFIG:
            return self._prospect.config_bytes
        return read_listed(self._site, self._remote, name, LARGEST_SMALL_FILE)

    def _check(self, bad: set[str], hashes: Mapping[str, str]) -> None:
        self._site.tally.begin("verifying", sum(self._size(name) for name in bad))
        for name in sorted(bad):
            if not self._is_right(name, hashes[name]):
                raise always_damaged(name, self._remote)
            with self._site.writing():
                sync_path(self._site.folder / name)

    def _promote(self, hashes: Mapping[str, str]) -> None:
        folder = self._site.folder
        manifest = dump_manifest(
            model_name=self._prospect.model_type,
            source=self._remote.name,
            quantization=self._prospect.plan.quantization,
            files={name: self._size(name) for name in hashes.keys() - {MANIFEST}},
        )
        with self._site.writing():
            replace_file(folder / MANIFEST, encode(manifest))
            os.unlink(folder / JOURNAL)
            sync_path(folder)
        open_container(folder)
