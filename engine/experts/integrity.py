"""Are the bytes that came from the disk the right ones? A check of a sample of what is read.

A container may have the digest of every expert in a file beside its own, made when all of it was
verified. An expert whose digest is not known is believed the first time and held to it afterwards:
that finds a disk which begins to lie while the model runs.
"""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from engine.container.container import Container
from engine.container.files import chunks
from engine.errors import ReadFailed
from engine.experts.reader import Batch, ExpertReader, ReadRequest

SUMS = "expert_sums.npz"  # other programs ignore it
CHECKED_READS = 16  # one in so many: a few percent of a core at the speed of an SSD
REMEDY = "Verify the model; if it is whole, the disk or the memory fails."

Sums = NDArray[np.uint64]  # (layers, experts): digests; 0: not known


class CheckedReader:
    """An ExpertReader that looks at one in `every` of the blobs that `inner` has read."""

    def __init__(self, inner: ExpertReader, sums: Sums, every: int) -> None:
        self._inner = inner
        self._sums = sums
        self._every = every
        self._random = Random(0)

    def submit(self, requests: Sequence[ReadRequest], *, lookahead: bool = False) -> Batch:
        picked = {i: request for i, request in enumerate(requests) if self._picks()}
        batch = self._inner.submit(requests, lookahead=lookahead)
        return _CheckedBatch(batch, picked, self._sums) if picked else batch

    def close(self) -> None:
        self._inner.close()

    def _picks(self) -> bool:
        """By chance: what is read has a rhythm, and every n-th read could be the same few."""
        return self._random.random() * self._every < 1


class _CheckedBatch:
    def __init__(self, inner: Batch, picked: dict[int, ReadRequest], sums: Sums) -> None:
        self._inner = inner
        self._picked = picked  # not looked at yet
        self._sums = sums
        self._faults: dict[int, ReadFailed] = {}

    def wait(self) -> tuple[ReadFailed | None, ...]:
        answers = list(self._inner.wait())
        picked, self._picked = self._picked, {}
        for position, request in picked.items():
            if answers[position] is None and not _right(request, self._sums):
                self._faults[position] = _wrong(request)
        for position, fault in self._faults.items():
            answers[position] = fault
        return tuple(answers)

    def cancel(self) -> tuple[int, ...]:
        return self._inner.cancel()


def known_sums(container: Container) -> Sums:
    """The digests in the container's own file; none where there is no such file, or a stale one."""
    layout = container.layout
    shape = (layout.layer_count, layout.expert_count)
    try:
        with (container.path / SUMS).open("rb") as file:
            arrays = np.load(file, allow_pickle=False)
            identity, sums = str(arrays["identity"]), np.array(arrays["sums"])
    except (OSError, ValueError, KeyError, BadZipFile):
        return np.zeros(shape, np.uint64)
    good = identity == container.identity and sums.shape == shape and sums.dtype == np.uint64
    return sums if good else np.zeros(shape, np.uint64)


def write_sums(container: Container) -> Path:
    """Read all experts once and note their digests. Only for a container known to be whole."""
    layout = container.layout
    sums = np.zeros((layout.layer_count, layout.expert_count), np.uint64)
    for layer in range(layout.layer_count):
        for expert in range(layout.expert_count):
            start = expert * layout.stride
            blob = chunks(container.layer_path(layer), start, start + layout.payload)
            sums[layer, expert] = _digest(part for _, part in blob)
    path = container.path / SUMS
    partial = path.with_name(f".partial-{SUMS}")
    np.savez(partial, identity=np.array(container.identity), sums=sums)
    return partial.replace(path)


def _right(request: ReadRequest, sums: Sums) -> bool:
    place = request.layer, request.expert
    found = _digest(request.views)
    if sums[place] == 0:
        sums[place] = found
    return bool(sums[place] == found)


def _digest(parts: Iterable[bytes | memoryview]) -> np.uint64:
    """Never 0."""
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(part)
    return np.uint64(int.from_bytes(digest.digest(), "little") or 1)


def _wrong(request: ReadRequest) -> ReadFailed:
    return ReadFailed(
        f"Expert {request.expert} of layer {request.layer} came damaged from {request.path}.",
        REMEDY,
        request.path,
        request.offset,
        sum(view.nbytes for view in request.views),
    )
