"""A container fetched as it is: file by file, each checked, the manifest last.

A file that was cut off goes on where it ends, if a hash will judge the whole; one that arrives
damaged is fetched again, and it alone.
"""

import hashlib
import os
from functools import partial
from pathlib import Path

from engine.container.container import DENSE, JOURNAL, MANIFEST, open_container
from engine.container.durable import disk_faults, replace_file, sync_path, write_at
from engine.container.files import chunks
from engine.container.hashes import HASHES, dump_hashes
from engine.container.inventory import by_bare_name, select_dense
from engine.container.json_file import encode
from engine.container.origin import Origin
from engine.container.remote import Absent, PastTheEnd, Remote
from engine.container.repack import LARGEST_SMALL_FILE
from engine.container.safetensors import read_header
from engine.errors import BadContainer
from engine.install.crew import work
from engine.install.digest import Digest
from engine.install.journal import Journal
from engine.install.prospect import Prospect
from engine.install.protocol import Notice
from engine.install.site import HANDS, Site
from engine.install.small import DAMAGED_TRIES, always_damaged, damaged, read_wanted
from engine.install.wanted import Wanted
from engine.install.writeback import Writeback


class DirectInstall:
    """Fetches a prospect's files into the site's folder, which is claimed."""

    def __init__(self, site: Site, remote: Remote, prospect: Prospect) -> None:
        self._site = site
        self._remote = remote
        self._fetcher = site.fetcher(remote)
        self._prospect = prospect
        names = [wanted.name for wanted in prospect.files]
        self._journal = Journal(site.folder, prospect.identity, names)

    def run(self) -> None:
        """Fetch, check, promote. May be run again after anything."""
        site, total = self._site, self._prospect.total_bytes
        there = sum(self._there(wanted) for wanted in self._prospect.files)
        site.check_room(total, there)
        origin = Origin(site.source, "container", self._remote.commit or "", total)
        site.keep(origin)
        with site.writing():
            self._journal.begin()
        site.begin(origin, self._remote.host, there)
        work([partial(self._fetch, wanted) for wanted in self._prospect.files], HANDS, site.stop)
        self._check_dense()
        self._say_unhashed()
        self._promote()

    def _there(self, wanted: Wanted) -> int:
        """Bytes of a file that need not come again, if they prove right."""
        path = self._site.folder / wanted.name
        if wanted.size is None or not path.is_file():
            return 0
        judged = wanted.sha256 or wanted.git_sha1 or self._journal.sha256(wanted.name)
        size = path.stat().st_size
        return size if judged and size <= wanted.size else 0

    def _fetch(self, wanted: Wanted) -> None:
        """One job: see that a file is there and right."""
        if self._journal.sha256(wanted.name) and self._there(wanted) == wanted.size:
            return
        with self._site.writing():
            self._path(wanted).parent.mkdir(parents=True, exist_ok=True)
        try:
            small = wanted.size is None or wanted.name in self._prospect.small
            sha256 = self._write_small(wanted) if small else self._write_large(wanted)
        except Absent as error:
            if wanted.optional:
                return
            raise BadContainer(
                f"{self._remote.name} lacks {wanted.name}.", "Ask its publisher."
            ) from error
        with self._site.writing():
            self._journal.note(wanted.name, sha256)

    def _write_small(self, wanted: Wanted) -> str:
        """By way of memory."""
        data = self._prospect.small.get(wanted.name)
        if data is None:
            data = read_wanted(self._site, self._remote, wanted, LARGEST_SMALL_FILE)
        else:
            self._site.tally.found(len(data) - self._there(wanted))
        with self._site.writing():
            replace_file(self._path(wanted), data)
        return hashlib.sha256(data).hexdigest()

    def _write_large(self, wanted: Wanted) -> str:
        """As it comes."""
        for attempt in range(DAMAGED_TRIES):
            if attempt:
                self._site.hear(damaged(wanted.name))
                self._site.tally.found(-self._path(wanted).stat().st_size)
                self._empty(wanted)
            digest = Digest(wanted)
            try:
                self._append(wanted, digest)
            except PastTheEnd:
                pass  # the source's file is shorter than ours: begin it anew
            else:
                if digest.is_right:
                    return digest.sha256
        self._empty(wanted)
        raise always_damaged(wanted.name, self._remote)

    def _append(self, wanted: Wanted, digest: Digest) -> None:
        """Hash what is there, fetch the rest, and force it to the disk."""
        path, at = self._path(wanted), self._there(wanted)
        if at == 0:
            self._empty(wanted)
        for _, part in chunks(path, 0, at):
            self._site.stop.check()
            digest.update(part)
        writeback = Writeback(path, at)
        for data in self._fetcher.chunks(wanted.name, at, wanted.size or 0):
            with self._site.writing():
                write_at(path, [(at, memoryview(data))])
            digest.update(data)
            at += len(data)
            writeback.reached(at)
        with disk_faults(self._site.folder):
            sync_path(path)  # long, and no writing: nobody has to wait for it

    def _empty(self, wanted: Wanted) -> None:
        """Make a file that holds nothing, whatever stood there."""
        with self._site.writing():
            self._path(wanted).write_bytes(b"")

    def _path(self, wanted: Wanted) -> Path:
        return self._site.folder / wanted.name

    def _check_dense(self) -> None:
        """The one large file that can contradict the small ones."""
        path = self._site.folder / DENSE
        header = read_header(path)
        names = by_bare_name(header, str(path))
        dense = {bare: header[name] for bare, name in names.items()}
        select_dense(self._prospect.config, dense, str(path))

    def _say_unhashed(self) -> None:
        large = [w for w in self._prospect.files if w.name not in self._prospect.small]
        count = sum(w.size is not None and not (w.sha256 or w.git_sha1) for w in large)
        if count:
            self._site.hear(Notice(f"No hash is published for {count} files; their sizes agree."))

    def _promote(self) -> None:
        """Write what makes it a model, the manifest last."""
        folder, small, sums = self._site.folder, self._prospect.small, self._journal.sums
        with self._site.writing():
            if HASHES not in small:
                sums[MANIFEST] = hashlib.sha256(small[MANIFEST]).hexdigest()
                replace_file(folder / HASHES, encode(dump_hashes(sums)))
            for below in {(folder / name).parent for name in sums}:
                sync_path(below)
            replace_file(folder / MANIFEST, small[MANIFEST])
            os.unlink(folder / JOURNAL)
            sync_path(folder)
        open_container(folder)
