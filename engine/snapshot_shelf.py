"""SnapshotShelf: snapshots in files, for conversations that go on when memory has forgotten them.

They outlive the process: after a restart only what is new is read. They are a cache of what the
program keeps elsewhere: nothing is lost with them, so a full or failing disk, or a damaged file,
costs a snapshot and not an answer. What lies there is bounded in bytes and in age, and
`snapshot_folder.forget` erases a conversation. Used on the thread that owns the model.
"""

import contextlib
import logging
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import mlx.core as mx
import numpy as np

from engine import __version__, snapshot_folder
from engine.config import ModelConfig
from engine.model.hybrid import Model
from engine.model.snapshot_file import FORMAT, BadSnapshot, load_snapshot, save_snapshot
from engine.model.state import Snapshot, snapshots_bytes
from engine.prefix_cache import Ids
from engine.snapshot_folder import SHELF_BYTES, Shelved

LEAST_FREE_BYTES = 2_000_000_000  # on the volume: a cache never takes the last room

log = logging.getLogger(__name__)


def open_shelf(
    model: Model, folder: Path, budget_bytes: int = SHELF_BYTES, *, named_only: bool = False
) -> "SnapshotShelf":
    """The shelf of a loaded model. Other kernels round in other places: they have their own.

    `named_only`: keep nothing of conversations without a name, which nobody could have forgotten.
    """
    maker = f"{model.container.identity} {type(model.kernels).__name__}"
    shelf = SnapshotShelf(folder, maker, model.config, model.kernels.dtype, budget_bytes)
    shelf.named_only = named_only
    return shelf


class SnapshotShelf:
    """Snapshots of one model in `folder`, which it shares with other models and processes."""

    def __init__(
        self,
        folder: Path,
        identity: str,
        config: ModelConfig,
        dtype: mx.Dtype,
        budget_bytes: int = SHELF_BYTES,
    ) -> None:
        self.folder = folder
        self.budget_bytes = budget_bytes
        self.named_only = False
        self._identity = f"{identity} {dtype} {FORMAT} {__version__}"
        self._model = snapshot_folder.digest(self._identity)
        self._config = config
        self._dtype = dtype
        snapshot_folder.tidy(folder, budget_bytes)

    def __len__(self) -> int:
        return len(snapshot_folder.shelved(self.folder))

    @property
    def nbytes(self) -> int:
        """On the disk, of all models."""
        return sum(file.size for file in snapshot_folder.shelved(self.folder))

    def put(self, ids: Sequence[int] | Ids, snapshot: Snapshot, conversation: str = "") -> None:
        """Keep the snapshot after `ids`, if the disk allows."""
        if (self.named_only and not conversation) or self.longest(ids) == len(ids):
            return
        name = snapshot_folder.file_name(conversation, self._model, packed(ids))
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if shutil.disk_usage(self.folder).free < LEAST_FREE_BYTES + snapshots_bytes([snapshot]):
                return
            save_snapshot(self.folder / name, snapshot, [int(i) for i in ids], self._identity)
        except (OSError, RuntimeError) as error:  # MLX's writer raises the latter
            log.warning("a snapshot was dropped, not shelved: %s", error)
        snapshot_folder.tidy(self.folder, self.budget_bytes)

    def longest(self, ids: Sequence[int] | Ids) -> int:
        """Tokens of the longest shelved beginning of `ids`; 0 where there is none."""
        found = self._beginnings(ids)
        return found[-1].length if found else 0

    def load(self, ids: Sequence[int] | Ids) -> Snapshot | None:
        """The snapshot of that beginning. A file that is no good is thrown away, and the next
        longest is tried; None where there is none.
        """
        for file in reversed(self._beginnings(ids)):
            try:
                snapshot = self._read(file, ids)
            except BadSnapshot as error:
                log.warning("a shelved snapshot is thrown away: %s", error)
                snapshot_folder.remove(file.path)
                continue
            with contextlib.suppress(OSError):  # another process may have deleted it
                os.utime(file.path)
            return snapshot
        return None

    def forget(self, conversation: str) -> None:
        """Delete all that was kept of a conversation."""
        snapshot_folder.forget(self.folder, [conversation])

    def _read(self, file: Shelved, ids: Sequence[int] | Ids) -> Snapshot:
        snapshot, held = load_snapshot(file.path, self._config, self._dtype, self._identity)
        if packed(held) != packed(ids[: file.length]):
            raise BadSnapshot(f"{file.path} holds other tokens than its name says.")
        return snapshot

    def _beginnings(self, ids: Sequence[int] | Ids) -> list[Shelved]:
        files = snapshot_folder.shelved(self.folder)
        return snapshot_folder.beginnings(files, self._model, packed(ids))


def packed(ids: Sequence[int] | Ids) -> bytes:
    """Token ids as `snapshot_folder` takes them."""
    return np.asarray(ids, "<u4").tobytes()
