"""CountedReads: a model's expert reads, counted at the seam where they are asked for."""

from collections import Counter
from collections.abc import Sequence

from engine import Model
from engine.experts.cache import Ids
from engine.experts.reader import Batch, ExpertReader, ReadRequest

Place = tuple[int, int]  # a layer and an expert


class CountedReads:
    """Stands before a reader. Where guesses are made, `hear` has to be the model's `on_route`."""

    def __init__(self) -> None:
        self.reads: Counter[Place] = Counter()  # guesses too
        self.needed = 0  # demands, and guesses that came true: what no lookahead would spare
        self._reader: ExpertReader
        self._guessed: set[Place] = set()
        self._right: set[Place] = set()

    def watch(self, model: Model) -> None:
        """Count the reads of `model` from now on."""
        self._reader = model.cache._reader
        model.cache._reader = self
        if model.memory.staging:
            model.memory.staging._reader = self

    def hear(self, layer: int, asked: Ids) -> None:
        """The layer asks for these: its guesses have come true, or have not."""
        guessed = {place for place in self._guessed if place[0] == layer}
        self._guessed -= guessed
        self._right = guessed & {(layer, expert) for expert in asked.ravel().tolist()}
        self.needed += len(self._right)

    def submit(self, requests: Sequence[ReadRequest], *, lookahead: bool = False) -> Batch:
        places = {(request.layer, request.expert) for request in requests}
        self.reads.update(places)
        if lookahead:
            self._guessed |= places
        else:  # a guess that nobody had begun is asked for again
            self.needed += len(places - self._right)
        return self._reader.submit(requests, lookahead=lookahead)

    def close(self) -> None:
        self._reader.close()
