"""PrefixCache: snapshots by the token ids that led to them, under a budget of memory.

Knows nothing of models or text. A conversation's next turn, an edited or regenerated one, and a
conversation that comes back all begin with ids that were read before: the longest such prefix with
a snapshot is where reading goes on.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.model.state import Snapshot, snapshots_bytes

Ids = NDArray[np.uint32]
Kept = tuple[Ids, Snapshot, str]  # the ids, the state after them, and whose they are
Spill = Callable[[Ids, Snapshot, str], None]


@dataclass(slots=True, eq=False)
class _Entry:
    ids: Ids
    snapshot: Snapshot
    conversation: str
    used: int

    def begins(self, ids: Ids) -> bool:
        """Whether `ids` start with this entry's."""
        length = self.ids.size
        return length <= ids.size and bool(np.array_equal(self.ids, ids[:length]))


class PrefixCache:
    """Least recently used snapshots go first; of one conversation, the earlier turns.

    `spill` is given a conversation's last snapshot when it leaves for want of room.
    """

    def __init__(self, budget_bytes: int, spill: Spill = lambda *kept: None) -> None:
        self.budget_bytes = budget_bytes
        self.spill = spill
        self._entries: list[_Entry] = []
        self._clock = itertools.count()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def nbytes(self) -> int:
        """Memory that the snapshots hold, what they share counted once."""
        return snapshots_bytes(entry.snapshot for entry in self._entries)

    def longest(self, ids: Sequence[int]) -> Snapshot | None:
        """The snapshot of the longest known prefix of `ids`; it counts as used."""
        asked = np.asarray(ids, np.uint32)
        found = [entry for entry in self._entries if entry.begins(asked)]
        if not found:
            return None
        best = max(found, key=lambda entry: entry.ids.size)
        best.used = next(self._clock)
        return best.snapshot

    def add(self, ids: Sequence[int], snapshot: Snapshot, conversation: str = "") -> None:
        """Keep the snapshot taken after exactly `ids`; make room for it."""
        if len(ids) != snapshot.length:
            raise ValueError(f"{len(ids)} ids for a snapshot of {snapshot.length} tokens")
        added = np.asarray(ids, np.uint32)
        self._entries = [e for e in self._entries if not np.array_equal(e.ids, added)]
        self._entries.append(_Entry(added, snapshot, conversation, next(self._clock)))
        self.shrink(self.budget_bytes)

    def shrink(self, budget_bytes: int) -> None:
        """Drop snapshots until they fit; the newest stays while it alone fits."""
        while self._entries and self.nbytes > budget_bytes:
            self._evict(self._victim())

    def spill_old(self) -> None:
        """Keep only the snapshot that was used last."""
        while len(self._entries) > 1:
            self._evict(min(self._entries, key=lambda entry: entry.used))

    def forget(self, conversation: str) -> None:
        """Drop what was kept of a conversation, for good."""
        self._entries = [e for e in self._entries if e.conversation != conversation]

    def worth_shelving(self) -> list[Kept]:
        """The ends of conversations, and where each was before its last step; newest first."""
        worth: list[_Entry] = []
        for end in sorted(self._entries, key=lambda entry: -entry.used):
            if not self._continued(end):
                before = [e for e in self._entries if e is not end and e.begins(end.ids)]
                worth += [end, *sorted(before, key=lambda entry: -entry.ids.size)[:1]]
        return [(entry.ids, entry.snapshot, entry.conversation) for entry in worth]

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()

    def _evict(self, entry: _Entry) -> None:
        self._entries.remove(entry)
        if not self._continued(entry):
            self.spill(entry.ids, entry.snapshot, entry.conversation)

    def _victim(self) -> _Entry:
        return min(self._entries, key=lambda entry: (not self._continued(entry), entry.used))

    def _continued(self, entry: _Entry) -> bool:
        """Whether a longer snapshot of the same conversation is here."""
        return any(other is not entry and entry.begins(other.ids) for other in self._entries)
