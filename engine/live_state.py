"""LiveState: the one state in use, the ids that are in it, and the snapshots to go back to."""

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

import mlx.core as mx

from engine.experts.stats import ExpertStats
from engine.model.hybrid import Model, Passage
from engine.model.state import Snapshot
from engine.prefix_cache import PrefixCache
from engine.snapshot_folder import prefix_of
from engine.snapshot_shelf import SnapshotShelf, packed


@dataclass(frozen=True, slots=True)
class Pace:
    """What decoding has cost since the start; the difference of two is what happened between."""

    tokens: int = 0
    seconds: float = 0.0
    experts: ExpertStats = field(default_factory=ExpertStats)

    def __add__(self, other: "Pace") -> "Pace":
        experts = self.experts + other.experts
        return Pace(self.tokens + other.tokens, self.seconds + other.seconds, experts)

    def __sub__(self, other: "Pace") -> "Pace":
        experts = self.experts - other.experts
        return Pace(self.tokens - other.tokens, self.seconds - other.seconds, experts)


class LiveState:
    """Conversations of one model, read no further than is new.

    `ids` are exactly what is in the state, whatever was cancelled or failed. `shelf` takes the
    snapshots that memory has no room for, and those that `shelve_one` gives it. What a named
    conversation has left can be forgotten.
    """

    def __init__(
        self, model: Model, snapshots_bytes: int, shelf: SnapshotShelf | None = None
    ) -> None:
        self.prefixes = PrefixCache(snapshots_bytes)
        self.pace = Pace()
        self._shelf = shelf
        if shelf is not None:
            self.prefixes.spill = shelf.put
        self._model = model
        self._state = model.new_state()
        self._ids: list[int] = []
        self._conversation = ""
        self._shelved: set[str] = set()  # of the snapshots in memory, as `prefix_of` names them

    @property
    def ids(self) -> tuple[int, ...]:
        """The tokens in the state."""
        return tuple(self._ids)

    def resume(self, ids: Sequence[int], conversation: str = "") -> int:
        """Stand at the longest known beginning of `ids`; how many of them need no reading.

        At least one is always left to read: its logits are what comes next. What is kept from now
        on is kept as `conversation`'s.
        """
        self._conversation = conversation
        wanted = list(ids[:-1])
        live = len(self._ids) if self._ids == wanted[: len(self._ids)] else 0
        snapshot = self._longest(wanted, live)
        known = snapshot.length if snapshot else 0
        if live and live >= known:
            return live
        if snapshot is None:
            self._state.clear()
        else:
            self._state.restore(snapshot)
        self._ids = wanted[:known]
        return known

    def read(
        self, ids: Sequence[int], cancelled: Callable[[], bool]
    ) -> Generator[Passage, None, mx.array]:
        """Prefill `ids`, yielding how far that is; the last one's logits (V,)."""
        before = len(self._ids)
        steps = self._model.prefill(ids, self._state, cancelled)
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                logits: mx.array = end.value
                return logits
            self._ids += ids[len(self._ids) - before : step.kept]
            yield step

    def decode(self, token: int, cancelled: Callable[[], bool]) -> mx.array:
        """Take in one token; its logits (V,)."""
        counts, started = self._model.cache.stats, time.perf_counter()
        logits = self._model.decode(token, self._state, cancelled)
        self._ids.append(token)
        took = time.perf_counter() - started
        self.pace += Pace(1, took, self._model.cache.stats - counts)
        return logits

    def keep(self) -> None:
        """Snapshot what is in the state now."""
        if self._ids:
            self.prefixes.add(self._ids, self._state.snapshot(), self._conversation)

    def shelve_one(self) -> bool:
        """Put one snapshot on the shelf that would be missed after a restart; False if none is.

        One at a time, because a large one takes a moment.
        """
        if self._shelf is None:
            return False
        worth = {prefix_of(packed(kept[0])): kept for kept in self.prefixes.worth_shelving()}
        self._shelved &= worth.keys()
        for prefix, kept in worth.items():
            if prefix not in self._shelved:
                self._shelved.add(prefix)  # a disk that refuses is not asked again
                self._shelf.put(*kept)
                return True
        return False

    def shelve(self) -> None:
        """Put all of them on the shelf."""
        while self.shelve_one():
            pass

    def forget(self, conversation: str) -> None:
        """Erase what a conversation has left here and on the shelf."""
        self.prefixes.forget(conversation)
        if self._conversation == conversation:
            self._state.clear()
            self._ids = []
        if self._shelf is not None:
            self._shelf.forget(conversation)

    def clear(self) -> None:
        """Forget this conversation and all others."""
        self._state.clear()
        self._ids = []
        self.prefixes.clear()

    def _longest(self, ids: Sequence[int], live: int) -> Snapshot | None:
        """The longest known beginning; off the shelf only where it spares reading."""
        snapshot = self.prefixes.longest(ids)
        known = max(live, snapshot.length if snapshot else 0)
        if self._shelf is None or self._shelf.longest(ids) <= known:
            return snapshot
        shelved = self._shelf.load(ids)
        if shelved is None or shelved.length <= known:
            return snapshot
        self.prefixes.add(ids[: shelved.length], shelved, self._conversation)
        return shelved
