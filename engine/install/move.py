"""Move: what an earlier run left in another folder is brought into this one.

Within a volume files are renamed. To another one each is copied, forced to the disk and only then
given its name, and the earlier folder is emptied when all have come: a kill at any moment loses
nothing, and the next run brings what is missing. The journal goes last, for what it says of the
others must be true.
"""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from engine.container.container import JOURNAL, MANIFEST
from engine.container.durable import TEMPORARY, sync_path, write_at
from engine.container.files import chunks, opened
from engine.container.origin import ORIGIN, read_origin
from engine.container.removal import empty, own_names
from engine.errors import BadOption
from engine.install.claim import LOCK, Claim, Taken
from engine.install.site import Site

_NOT_BROUGHT = (ORIGIN, JOURNAL, MANIFEST, LOCK)  # or at a time of their own


def bring(earlier: Path, site: Site) -> None:
    """Move an installation of the site's source from `earlier`; nothing where there is none.

    Raises BadOption where another process works on it, NotEnoughDisk, Cancelled.
    """
    origin = read_origin(earlier) if earlier.is_dir() else None
    if origin is None or origin.source != site.source:
        return
    site.keep(origin)
    try:
        with Claim(earlier):
            names = list(_names(earlier))
            total = sum(_written_bytes(earlier / name) for name in names)
            if not _is_beside(earlier, site.folder):
                site.check_room(max(total, origin.total_bytes), 0)
            site.tally.begin("moving", total)
            for name in names:
                _bring_file(earlier / name, site.folder / name, site)
            with site.writing():
                sync_path(site.folder)
                empty(earlier, frozenset({LOCK}))
    except Taken as taken:
        raise BadOption(
            f"Process {taken.pid} is still at work in {earlier}.", "Stop it first."
        ) from taken


def _names(folder: Path) -> Iterator[str]:
    own = dict.fromkeys(name for name in own_names(folder) if name not in _NOT_BROUGHT)
    for name in (*own, JOURNAL):
        path = folder / name
        if path.is_dir():
            yield from (f"{name}/{inside.name}" for inside in sorted(path.iterdir()))
        elif path.is_file() and not name.endswith(TEMPORARY):
            yield name


def _is_beside(one: Path, other: Path) -> bool:
    return one.stat().st_dev == other.stat().st_dev


def _written_bytes(path: Path) -> int:
    """What is written of a sparse file."""
    status = path.stat()
    return min(status.st_size, status.st_blocks * 512)


def _bring_file(source: Path, target: Path, site: Site) -> None:
    """By its name where that is enough; nothing where it has come already."""
    with site.writing():
        target.parent.mkdir(exist_ok=True)
    has_come = target.is_file() and target.stat().st_size == source.stat().st_size
    if has_come or _is_beside(source, target.parent):
        site.tally.moved(_written_bytes(source))
        with site.writing():
            if not has_come:
                os.replace(source, target)
        return
    _copy(source, target, site)


def _copy(source: Path, target: Path, site: Site) -> None:
    copy = target.with_name(target.name + TEMPORARY)
    with site.writing():
        copy.write_bytes(b"")
        os.truncate(copy, source.stat().st_size)
    for start, stop in _extents(source):
        for at, data in chunks(source, start, stop):
            site.stop.check()
            with site.writing():
                write_at(copy, [(at, data)])
            site.tally.moved(len(data))
    with site.writing():
        sync_path(copy)
        copy.replace(target)


def _extents(path: Path) -> Iterator[tuple[int, int]]:
    """(start, stop) of what is written of a sparse file; all of it where nobody can tell."""
    with opened(path) as fd:
        at, size = 0, os.fstat(fd).st_size
        while at < size:
            try:
                at = os.lseek(fd, at, os.SEEK_DATA)
                stop = os.lseek(fd, at, os.SEEK_HOLE)
            except OSError as error:
                if error.errno == errno.ENXIO:
                    return  # only a hole is left
                stop = size
            yield at, stop
            at = stop
