"""Installation: a container that is being written, and the journal that lets it go on after a kill.

The files are built in place, sparse at their full size. What has surely reached the disk stands in
the journal, a cursor for each source file; the manifest is written last, so that nothing before
that moment can be taken for a complete model. One process at a time: the folder is locked.
"""

import fcntl
import hashlib
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from engine.container.container import DENSE, JOURNAL, LAYOUT, MANIFEST, SIDECAR
from engine.container.durable import (
    check_space,
    disk_faults,
    replace_file,
    sync_path,
    write_at,
)
from engine.container.files import names_in
from engine.container.hashes import HASHES, dump_hashes, hash_file
from engine.container.json_file import encode, read_object, write_object
from engine.container.layout import dump_layout
from engine.container.manifest import dump_manifest
from engine.container.plan import RepackPlan
from engine.errors import BadContainer, BadOption

log = logging.getLogger(__name__)

CHECKPOINT_BYTES = 1 << 28  # written between two entries in the journal
SPARE_BYTES = 1 << 26  # left free on the volume, for the small files and everybody else

_HARMLESS = (SIDECAR, ".DS_Store")  # begin the names of what may stand in a fresh folder


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
        with disk_faults(self.folder):
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
        return MANIFEST in names_in(self.folder)

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
        with disk_faults(self.folder):
            for move in self.plan.moves_within(source, offset, end):
                self._unsynced.add(move.target)
                parts = (
                    (target, data[start - offset : stop - offset])
                    for target, start, stop in move.pieces(offset, end)
                )
                write_at(self.folder / move.target, parts)
        self._since_checkpoint += len(data)
        if self._since_checkpoint >= CHECKPOINT_BYTES:
            self.checkpoint(source, end)

    def checkpoint(self, source: str, end: int) -> None:
        """Force everything to the disk, then note that `source` is written up to `end`."""
        with disk_faults(self.folder):
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
        with disk_faults(self.folder):
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
        if JOURNAL not in names_in(self.folder):
            self._refuse_foreign()
        elif not self._read_journal():
            raise self._foreign("an installation of something else")
        if self.complete:
            return
        there = sum(status.st_blocks * 512 for status in self._stand())
        check_space(self.folder, sum(self.plan.sizes.values()) - there + SPARE_BYTES)
        if [status.st_size for status in self._stand()] != list(self.plan.sizes.values()):
            self._done = {}  # a file was lost, so that the cursors mean nothing
        self._write_journal()
        self._presize()

    def _refuse_foreign(self) -> None:
        if self.complete:
            raise self._foreign("a complete model")
        others = {name for name in names_in(self.folder) if not name.startswith(_HARMLESS)}
        if others:
            raise self._foreign(repr(min(others)))

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

    def _stand(self) -> list[os.stat_result]:
        """The big files that are there already, in the plan's order."""
        paths = [self.folder / name for name in self.plan.sizes]
        return [os.stat(path) for path in paths if os.path.isfile(path)]

    def _presize(self) -> None:
        for name, size in self.plan.sizes.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.touch()
            os.truncate(path, size)
        write_at(self.folder / DENSE, [(0, memoryview(self.plan.dense_start))])
        self._unsynced.add(DENSE)
        sync_path((self.folder / LAYOUT).parent)
