"""A checkpoint repacked while it comes: each byte is written once, where the container wants it.

Shards come whole and in order, so that each can be checked by its hash; what a container has no
place for is kept until then. One that arrives damaged comes again, and it alone.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from engine.container.container import CONFIG, open_container
from engine.container.installation import Installation
from engine.container.origin import Origin
from engine.container.remote import Absent, PastTheEnd, Remote
from engine.container.repack import LARGEST_SMALL_FILE, SMALL_FILES
from engine.errors import BadCheckpoint, BadContainer
from engine.install import gaps
from engine.install.crew import work
from engine.install.digest import Digest
from engine.install.raw import RawProspect
from engine.install.site import HANDS, Site
from engine.install.small import DAMAGED_TRIES, always_damaged, damaged, read_listed
from engine.install.wanted import Wanted


class RoutedInstall:
    """Fetches a checkpoint's shards into a container in the site's folder, which is claimed."""

    def __init__(self, site: Site, remote: Remote, prospect: RawProspect) -> None:
        self._site = site
        self._remote = remote
        self._fetcher = site.fetcher(remote)
        self._prospect = prospect
        source = f"{remote.name}@{remote.commit or ''}"
        self._installation = Installation(site.folder, prospect.plan, source)
        self._turn = threading.Lock()  # an Installation is one thread's at a time

    def run(self) -> None:
        """Fetch, check, hash, promote. May be run again after anything."""
        site, prospect = self._site, self._prospect
        there = sum(
            path.stat().st_blocks * 512
            for path in (site.folder / name for name in prospect.plan.sizes)
            if path.is_file()
        )
        site.check_room(prospect.disk_bytes, there)
        commit = self._remote.commit or ""
        origin = Origin(site.source, "checkpoint", commit, prospect.total_bytes)
        site.keep(origin)
        with self._opened() as installation:
            site.begin(origin, self._remote.host, sum(map(installation.done, prospect.shards)))
            if installation.complete:
                installation.remove_journal()
            else:
                work([partial(self._fetch, shard) for shard in prospect.shards], HANDS, site.stop)
                self._finish()
        gaps.drop_all(site.folder)
        open_container(site.folder)

    @contextmanager
    def _opened(self) -> Iterator[Installation]:
        """The installation, taken up where an earlier run left it."""
        with self._site.writing():
            self._installation.__enter__()
        try:
            yield self._installation
        finally:
            self._installation.__exit__()

    def _fetch(self, shard: str) -> None:
        """One job: see that a shard's bytes are where they belong, and right."""
        size = self._prospect.shards[shard].size or 0
        if self._installation.done(shard) == size and not gaps.stand(self._site.folder, shard):
            return  # the gaps go when the shard is checked
        for attempt in range(DAMAGED_TRIES):
            if attempt:
                self._site.hear(damaged(shard))
            if self._pour(shard, size):
                with self._site.writing(), self._turn:
                    self._installation.checkpoint(shard, size)
                    gaps.drop(self._site.folder, shard)
                return
            self._site.tally.found(-size)
            self._start_over(shard)
        raise always_damaged(shard, self._remote)

    def _pour(self, shard: str, size: int) -> bool:
        """Fetch what is missing; whether the whole is right."""
        digest, at = self._take_up(shard)
        moves = self._prospect.plan.moves[shard]
        try:
            for part in self._fetcher.chunks(shard, at, size):
                data = memoryview(part)
                digest.update(data)
                with self._site.writing(), self._turn:
                    gaps.keep(self._site.folder, shard, moves, at, data)
                    self._installation.write(shard, at, data)
                at += len(data)
        except (PastTheEnd, Absent) as error:
            raise BadCheckpoint(
                f"{self._remote.name} no longer has all of {shard}.", "Ask its publisher."
            ) from error
        return digest.is_right

    def _take_up(self, shard: str) -> tuple[Digest, int]:
        """The digest of what came before, and where the shard goes on."""
        done = self._installation.done(shard)
        moves = self._prospect.plan.moves[shard]
        digest = self._digest(shard)
        try:
            for data in gaps.read_back(self._site.folder, shard, moves, done):
                self._site.stop.check()
                digest.update(data)
        except BadContainer:  # a file was lost: begin anew
            self._site.tally.found(-done)
            self._start_over(shard)
            return self._digest(shard), 0
        return digest, done

    def _digest(self, shard: str) -> Digest:
        listed = self._prospect.shards[shard]
        return Digest(Wanted(shard, listed.size, listed.sha256, listed.git_sha1, optional=False))

    def _start_over(self, shard: str) -> None:
        with self._site.writing(), self._turn:
            self._installation.checkpoint(shard, 0)
            gaps.drop(self._site.folder, shard)

    def _finish(self) -> None:
        """The small files, the hashes, the manifest."""
        site, prospect = self._site, self._prospect
        listed = self._remote.files or {}
        small = {
            name: read_listed(site, self._remote, name, LARGEST_SMALL_FILE)
            for name in SMALL_FILES
            if name in listed
        }
        site.tally.begin("verifying", sum(prospect.plan.sizes.values()))
        with site.writing():
            self._installation.finish(
                model_name=prospect.model_type,
                source_name=self._remote.name,
                small_files={CONFIG: prospect.config_bytes, **small},
                advance=self._hashed,
            )

    def _hashed(self, count: int) -> None:
        self._site.stop.check()
        self._site.tally.moved(count)
