"""LiveState: the one state in use, the ids that are in it, and the snapshots to go back to."""

from collections.abc import Callable, Generator, Sequence

import mlx.core as mx

from engine.model.hybrid import Model
from engine.prefix_cache import PrefixCache


class LiveState:
    """Conversations of one model, read no further than is new.

    `ids` are exactly what is in the state, whatever was cancelled or failed.
    """

    def __init__(self, model: Model, snapshots_bytes: int) -> None:
        self.prefixes = PrefixCache(snapshots_bytes)
        self._model = model
        self._state = model.new_state()
        self._ids: list[int] = []

    @property
    def ids(self) -> tuple[int, ...]:
        """The tokens in the state."""
        return tuple(self._ids)

    def resume(self, ids: Sequence[int]) -> int:
        """Stand at the longest known beginning of `ids`; how many of them need no reading.

        At least one is always left to read: its logits are what comes next.
        """
        wanted = list(ids[:-1])
        snapshot = self.prefixes.longest(wanted)
        known = snapshot.length if snapshot else 0
        if len(self._ids) >= known and self._ids == wanted[: len(self._ids)]:
            return len(self._ids)
        if snapshot is None:
            self._state.clear()
        else:
            self._state.restore(snapshot)
        self._ids = wanted[:known]
        return known

    def read(
        self, ids: Sequence[int], cancelled: Callable[[], bool]
    ) -> Generator[int, None, mx.array]:
        """Prefill `ids`, yielding how many are in; the last one's logits (V,)."""
        before = len(self._ids)
        steps = self._model.prefill(ids, self._state, cancelled)
        while True:
            try:
                done = next(steps)
            except StopIteration as end:
                logits: mx.array = end.value
                return logits
            self._ids += ids[len(self._ids) - before : done]
            yield done

    def decode(self, token: int, cancelled: Callable[[], bool]) -> mx.array:
        """Take in one token; its logits (V,)."""
        logits = self._model.decode(token, self._state, cancelled)
        self._ids.append(token)
        return logits

    def keep(self) -> None:
        """Snapshot what is in the state now."""
        if self._ids:
            self.prefixes.add(self._ids, self._state.snapshot())

    def clear(self) -> None:
        """Forget this conversation and all others."""
        self._state.clear()
        self._ids = []
        self.prefixes.clear()
