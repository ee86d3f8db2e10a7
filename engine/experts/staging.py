"""Staging: experts that a prefill sweep reads once, in groups, beside the slots.

Two buffers of G slots take turns: one group is read while the group before it computes. The slots
that decode uses are not touched. Experts that already lie in those need no staging: the sweep can
pin them there (`ExpertCache.begin`) and compute from them. A buffer that a layer has no more use
for is filled for the layer after it, whose tokens are still to be mixed and routed.
"""

from collections.abc import Sequence

from engine.experts.files import ExpertFiles, empty_slots, read_request
from engine.experts.reader import Batch, ExpertReader
from engine.experts.slots import LayerSlots
from engine.experts.stats import Tally

BUFFERS = 2
Place = tuple[int, tuple[int, ...]]  # a layer and experts


class StagedGroup:
    """Up to G experts of one layer on their way: the i-th goes to slot i of `slots`."""

    def __init__(
        self, place: Place, slots: LayerSlots, batch: Batch, blob_bytes: int, tally: Tally
    ) -> None:
        self.layer, self.experts = place
        self.slots = slots
        self._batch = batch
        self._blob_bytes = blob_bytes
        self._tally = tally

    def wait(self) -> None:
        """Block until all are read. Raises ReadFailed. Call it once."""
        with self._tally.waiting():
            answers = self._batch.wait()
        failures = [answer for answer in answers if answer is not None]
        self._tally.bytes_read += (len(answers) - len(failures)) * self._blob_bytes
        if failures:
            raise failures[0]

    def abandon(self) -> None:
        """Return when nothing writes into the slots any more; what is not begun is not read."""
        self._batch.cancel()
        self._batch.wait()


class Staging:
    """Two buffers. Owned by the thread that owns MLX."""

    def __init__(
        self, files: ExpertFiles, reader: ExpertReader, tally: Tally, group_size: int
    ) -> None:
        self.group_size = group_size
        self._files = files
        self._reader = reader
        self._tally = tally
        self._buffers = [empty_slots(files, group_size) for _ in range(BUFFERS)]
        self._groups: list[StagedGroup | None] = [None] * BUFFERS
        self._ahead: list[StagedGroup] = []
        self._turn = 0

    def load(self, layer: int, experts: Sequence[int]) -> StagedGroup:
        """Start to read `experts`, at most `group_size` of them.

        They overwrite the group before the last: its products must have been evaluated.
        """
        if len(experts) > self.group_size:
            raise ValueError(f"{len(experts)} experts in a group of {self.group_size}")
        turn = self._turn
        self._turn = (turn + 1) % BUFFERS
        earlier = self._groups[turn]
        if earlier is not None:
            earlier.abandon()  # done long ago, but for a sweep that was given up
        slots = self._buffers[turn]
        requests = [read_request(self._files, layer, e, slots, i) for i, e in enumerate(experts)]
        batch = self._reader.submit(requests)
        group = StagedGroup(
            (layer, tuple(experts)), slots, batch, self._files.layout.payload, self._tally
        )
        self._groups[turn] = group
        return group

    def load_ahead(self, layer: int, experts: Sequence[int]) -> None:
        """`load` for a layer that has not asked yet: it will find the group by `take_ahead`."""
        self._ahead.append(self.load(layer, experts))

    def take_ahead(self, layer: int) -> list[StagedGroup]:
        """What was loaded ahead for this layer, to be waited for before anything is loaded.

        What was loaded for another is forgotten: its sweep was given up.
        """
        groups, self._ahead = self._ahead, []
        return [group for group in groups if group.layer == layer]
