"""SnapshotShelf: snapshots that memory has no room for, in files, while this process lives.

They are a cache of conversations that the program keeps elsewhere: nothing is lost with them. So
they are never left behind: a deleted conversation must not live on in one. A full or failing disk
costs a snapshot, not an answer.
"""

import logging
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from engine.config import ModelConfig
from engine.model.snapshot_file import BadSnapshot, load_snapshot, save_snapshot
from engine.model.state import Snapshot

SHELF_BYTES = 4_000_000_000

log = logging.getLogger(__name__)

Ids = NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False)
class _Shelved:
    ids: Ids
    path: Path
    size: int


class SnapshotShelf:
    """Snapshots of one model in `parent`, in a folder of this process's own; the oldest leave."""

    def __init__(
        self,
        parent: Path,
        identity: str,
        config: ModelConfig,
        dtype: mx.Dtype,
        budget_bytes: int = SHELF_BYTES,
    ) -> None:
        self.folder = parent / str(os.getpid())
        self.budget_bytes = budget_bytes
        self._identity = identity
        self._config = config
        self._dtype = dtype
        self._shelved: list[_Shelved] = []  # oldest first
        self._count = 0
        sweep(parent)

    def __len__(self) -> int:
        return len(self._shelved)

    @property
    def nbytes(self) -> int:
        """On the disk."""
        return sum(shelved.size for shelved in self._shelved)

    def put(self, ids: Sequence[int] | Ids, snapshot: Snapshot) -> None:
        """Keep the snapshot after `ids`, if the disk allows."""
        self._count += 1
        path = self.folder / f"{self._count}.safetensors"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            save_snapshot(path, snapshot, [int(i) for i in ids], self._identity)
            size = path.stat().st_size
        except (OSError, RuntimeError) as error:  # MLX's writer raises the latter
            log.warning("a snapshot was dropped, not shelved: %s", error)
            return
        self._shelved.append(_Shelved(np.asarray(ids, np.uint32), path, size))
        while self.nbytes > self.budget_bytes:
            self._remove(self._shelved[0])

    def longest(self, ids: Sequence[int]) -> int:
        """Tokens of the longest shelved beginning of `ids`; 0 where there is none."""
        found = self._longest(ids)
        return found.ids.size if found else 0

    def take(self, ids: Sequence[int]) -> Snapshot | None:
        """The snapshot of that beginning, off the shelf; None where its file is no good."""
        found = self._longest(ids)
        if found is None:
            return None
        try:
            snapshot, _ = load_snapshot(found.path, self._config, self._dtype, self._identity)
        except BadSnapshot as error:
            log.warning("a shelved snapshot is lost: %s", error)
            return None
        finally:
            self._remove(found)
        return snapshot

    def close(self) -> None:
        """Leave nothing behind."""
        self._shelved.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _longest(self, ids: Sequence[int]) -> _Shelved | None:
        asked = np.asarray(ids, np.uint32)
        fitting = (s for s in self._shelved if np.array_equal(s.ids, asked[: s.ids.size]))
        return max(fitting, key=lambda shelved: shelved.ids.size, default=None)

    def _remove(self, shelved: _Shelved) -> None:
        self._shelved.remove(shelved)
        shelved.path.unlink(missing_ok=True)


def sweep(parent: Path) -> None:
    """Delete what processes left that were killed."""
    for folder in parent.glob("[0-9]*"):
        if not _alive(int(folder.name)):
            shutil.rmtree(folder, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
