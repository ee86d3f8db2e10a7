"""Installation: a container that is being written, and the journal that lets it go on after a kill.

The files are built in place, sparse at their full size. What has surely reached the disk stands in
the journal, a cursor for each source file; the manifest is written last, so that nothing before
that moment can be taken for a complete model. One process at a time: the folder is locked.
"""

import errno
import fcntl
import hashlib
import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from engine.container.container import DENSE, JOURNAL, LAYOUT, MANIFEST
from engine.container.durable import TEMPORARY, replace_file, sync_path
from engine.container.hashes import HASHES, dump_hashes, hash_file
from engine.container.json_file import encode, read_object, write_object
from engine.container.layout import dump_layout
from engine.container.manifest import dump_manifest
from engine.container.plan import RepackPlan
from engine.errors import BadContainer, BadOption, MartletError, NotEnoughDisk

log = logging.getLogger(__name__)

CHECKPOINT_BYTES = 1 << 28  # written between two entries in the journal
SPARE_BYTES = 1 << 26  # left free on the volume, for the small files and everybody else

_HARMLESS = {JOURNAL, JOURNAL + TEMPORARY, ".DS_Store"}


class Installation:
    """Fill `folder` by `plan`; use as a context manager. Bytes may arrive in any order of files.

    `source_id` names the exact source (its files' sizes and times, or a commit): an installation
    goes on only with the same plan from the same source.
    """

    def __init__(self, folder: Path, plan: RepackPlan, source_id: str) -> None:
        self.folder = folder
        self.plan = plan
        self._identity = f"{plan.fingerprint()} {source_id}"
        self._done: dict[str, int] = {}
        self._unsynced: set[str] = set()
        self._since_checkpoint = 0
        self._lock = -1

    def __enter__(self) -> Self:
        """Lock the folder and take up what an earlier run left.

        Raises BadOption where the folder holds something else or is in use, NotEnoughDisk.
        """
        with self._disk_faults():
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.folder, os.O_RDONLY)
        try:
            self._take_lock()
            self._take_up()
        except BaseException:
            os.close(self._lock)
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        os.close(self._lock)

    @property
    def complete(self) -> bool:
        """Whether an earlier run finished all but the removal of the journal."""
        return (self.folder / MANIFEST).exists()

    def done(self, source: str) -> int:
        """The offset in a source file up to which everything is safely written."""
        return self._done.get(source, 0)

    @property
    def done_bytes(self) -> int:
        """Bytes of the plan that are safely written."""
        return sum(
            max(0, min(self.done(source), move.end) - move.offset)
            for source, moves in self.plan.moves.items()
            for move in moves
        )

    def write(self, source: str, offset: int, data: memoryview) -> None:
        """Put bytes of a source file where the plan wants them; those of no tensor are dropped.

        For each source, bytes must come in order: a checkpoint takes all before them as written.
        """
        end = offset + len(data)
        with self._disk_faults():
            for move in self.plan.moves_within(source, offset, end):
                self._unsynced.add(move.target)
                with _writable(self.folder / move.target) as fd:
                    for target, start, stop in move.pieces(offset, end):
                        _write_all(fd, data[start - offset : stop - offset], target)
        self._since_checkpoint += len(data)
        if self._since_checkpoint >= CHECKPOINT_BYTES:
            self.checkpoint(source, end)

    def checkpoint(self, source: str, end: int) -> None:
        """Force everything to the disk, then note that `source` is written up to `end`."""
        with self._disk_faults():
            for target in sorted(self._unsynced):
                sync_path(self.folder / target)
            self._unsynced.clear()
            self._since_checkpoint = 0
            self._done[source] = end
            self._write_journal()

    def finish(
        self,
        *,
        model_name: str,
        source_name: str,
        small_files: Mapping[str, bytes],
        advance: Callable[[int], None],
    ) -> None:
        """Write all but the tensors, the manifest last; `advance` hears of hashed bytes."""
        with self._disk_faults():
            small = dict(small_files) | {LAYOUT: encode(dump_layout(self.plan.layout))}
            for name, data in small.items():
                replace_file(self.folder / name, data)
            sizes = dict(self.plan.sizes) | {name: len(data) for name, data in small.items()}
            manifest = dump_manifest(
                model_name=model_name,
                source=source_name,
                quantization=self.plan.quantization,
                files=sizes,
            )
            small[MANIFEST] = encode(manifest)
            hashes = {name: hashlib.sha256(data).hexdigest() for name, data in small.items()}
            for name in self.plan.sizes:
                hashes[name] = hash_file(self.folder / name, advance)
            write_object(self.folder / HASHES, dump_hashes(hashes))
            replace_file(self.folder / MANIFEST, small[MANIFEST])
            self.remove_journal()

    def remove_journal(self) -> None:
        """The last step: the folder is a container like any other."""
        (self.folder / JOURNAL).unlink()
        sync_path(self.folder)

    def _take_lock(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BadOption(
                f"{self.folder} is being written by another process.", "Wait for it, or stop it."
            ) from error
        except OSError:
            log.info("%s: its volume has no locks", self.folder)  # some network volumes

    def _take_up(self) -> None:
        if not (self.folder / JOURNAL).exists():
            self._refuse_foreign()
        elif not self._read_journal():
            raise self._foreign("an installation of something else")
        if self.complete:
            return
        self._check_disk()
        if not self._files_stand():
            self._done = {}
        with self._disk_faults():
            self._write_journal()
            self._presize()

    def _refuse_foreign(self) -> None:
        if self.complete:
            raise self._foreign("a complete model")
        others = sorted(p.name for p in self.folder.iterdir() if p.name not in _HARMLESS)
        if others:
            raise self._foreign(f"{others[0]!r}")

    def _foreign(self, what: str) -> BadOption:
        return BadOption(
            f"{self.folder} holds {what}.", "Choose another folder, or delete this one first."
        )

    def _read_journal(self) -> bool:
        """Take over the cursors; False where the journal is of another plan or another writer."""
        try:
            data = read_object(self.folder / JOURNAL)
        except BadContainer:
            return False
        done = data.get("done")
        if data.get("plan") != self._identity or not isinstance(done, dict):
            return False
        self._done = {k: v for k, v in done.items() if k in self.plan.moves and type(v) is int}
        return True

    def _write_journal(self) -> None:
        write_object(self.folder / JOURNAL, {"plan": self._identity, "done": self._done})

    def _files_stand(self) -> bool:
        """Whether all big files have their full size, so that the cursors mean something."""
        paths = {self.folder / name: size for name, size in self.plan.sizes.items()}
        return all(path.is_file() and path.stat().st_size == size for path, size in paths.items())

    def _presize(self) -> None:
        for name, size in self.plan.sizes.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.touch()
            os.truncate(path, size)
        with _writable(self.folder / DENSE) as fd:
            _write_all(fd, memoryview(self.plan.dense_start), 0)
        self._unsynced.add(DENSE)

    def _check_disk(self) -> None:
        paths = [self.folder / name for name in self.plan.sizes]
        there = sum(path.stat().st_blocks * 512 for path in paths if path.exists())
        needed = max(0, sum(self.plan.sizes.values()) - there) + SPARE_BYTES
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise NotEnoughDisk(
                f"{self.folder} needs {needed / 1e9:.2f} GB, its volume has {free / 1e9:.2f} GB "
                "free.",
                f"Free {(needed - free) / 1e9:.2f} GB or choose another volume.",
            )

    @contextmanager
    def _disk_faults(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise NotEnoughDisk(
                    f"The volume of {self.folder} is full.",
                    "Free some space and run it again: it goes on where it stopped.",
                ) from error
            raise MartletError(
                f"{error.filename or self.folder} cannot be written: {error.strerror}.",
                "Check the disk and its permissions, then run it again.",
            ) from error


@contextmanager
def _writable(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_WRONLY)
    try:
        yield fd
    finally:
        os.close(fd)


def _write_all(fd: int, data: memoryview, offset: int) -> None:
    while data:
        count = os.pwrite(fd, data, offset)
        data, offset = data[count:], offset + count
