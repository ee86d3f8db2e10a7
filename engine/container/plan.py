"""RepackPlan: where every byte of a checkpoint goes in a container. Pure: it opens no file.

A stacked expert tensor [E, …] is E pieces that land one stride apart in a layer's file; a dense
tensor is one piece of the dense file. The same plan serves a local copy and a download by ranges.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from engine.config import ModelConfig, Quantization
from engine.container.container import DENSE, layer_name
from engine.container.files import REDOWNLOAD
from engine.container.inventory import expert_section, select_dense
from engine.container.layout import (
    ExpertLayout,
    build_layout,
    expert_quantization,
    width_name,
)
from engine.container.safetensors import TensorEntry, place_tensors
from engine.errors import BadContainer, UnsupportedModel

SOURCE = "The checkpoint"  # what errors call it


@dataclass(frozen=True, slots=True)
class SourceTensor:
    """A tensor of a checkpoint: the file it is in, and where."""

    file: str
    entry: TensorEntry


@dataclass(frozen=True, slots=True)
class Move:
    """`size` bytes at `offset` of `source`, cut in pieces that land `step` apart in `target`."""

    source: str
    offset: int
    size: int
    target: str
    target_offset: int
    piece: int
    step: int

    @property
    def end(self) -> int:
        """Where the source range ends."""
        return self.offset + self.size

    def pieces(self, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """(target offset, source start, source stop) of each piece's part within a source range."""
        at, stop = max(start, self.offset), min(stop, self.end)
        while at < stop:
            number, within = divmod(at - self.offset, self.piece)
            end = min(at + self.piece - within, stop)
            yield self.target_offset + number * self.step + within, at, end
            at = end


@dataclass(frozen=True, slots=True)
class RepackPlan:
    """All moves, in the order of the source files, and what the result will look like."""

    layout: ExpertLayout
    quantization: Quantization | None  # of the experts
    dense_start: bytes  # length and header of the dense file
    sizes: Mapping[str, int]  # of the files that moves fill
    moves: Mapping[str, tuple[Move, ...]]  # by source file, in order of offset

    @property
    def move_bytes(self) -> int:
        """Bytes to copy."""
        return sum(move.size for moves in self.moves.values() for move in moves)

    def ranges(self, source: str, start: int = 0) -> list[tuple[int, int]]:
        """The needed byte ranges of a source file from `start` on, joined where they touch."""
        found: list[tuple[int, int]] = []
        for move in self.moves[source]:
            begin = max(start, move.offset)
            if begin >= move.end:
                continue
            if found and found[-1][1] == begin:
                begin = found.pop()[0]
            found.append((begin, move.end))
        return found

    def moves_within(self, source: str, start: int, stop: int) -> Iterator[Move]:
        """The moves that take bytes of a source range."""
        moves = self.moves[source]
        first = max(bisect_right(moves, start, key=lambda move: move.offset) - 1, 0)
        for move in moves[first:]:
            if move.offset >= stop:
                return
            yield move

    def fingerprint(self) -> str:
        """Hex SHA-256: two plans with the same one write the same files from the same ranges."""
        digest = hashlib.sha256(self.dense_start)
        for source, moves in self.moves.items():
            for move in moves:
                fields = (source, move.offset, move.size, move.target, move.target_offset)
                digest.update(f"{fields} {move.piece} {move.step}\n".encode())
        return digest.hexdigest()


def make_plan(config: ModelConfig, tensors: Mapping[str, SourceTensor]) -> RepackPlan:
    """Plan the repacking of `tensors` (by bare name).

    Raises BadContainer for tensors that are missing or misshapen, UnsupportedModel for widths
    that a container cannot hold.
    """
    dense = {name: t.entry for name, t in tensors.items() if expert_section(name) is None}
    select_dense(config, dense, SOURCE)
    layout = _layout(config, tensors)
    start, places = place_tensors({name: (e.dtype, e.shape) for name, e in dense.items()})
    end = max(place.offset + place.size for place in places.values())
    layers = dict.fromkeys(map(layer_name, range(layout.layer_count)), layout.layer_bytes)
    return RepackPlan(
        layout=layout,
        quantization=expert_quantization(layout, config, SOURCE),
        dense_start=start,
        sizes=layers | {DENSE: end},
        moves=_by_source(route(name, t, layout, places) for name, t in tensors.items()),
    )


def route(
    name: str,
    tensor: SourceTensor,
    layout: ExpertLayout,
    dense: Mapping[str, TensorEntry],
) -> Move:
    """Where the tensor of bare name `name` goes in a container of `layout` and `dense` entries.

    Raises KeyError where that container has no place for it.
    """
    source = (tensor.file, tensor.entry.offset, tensor.entry.size)
    found = expert_section(name)
    if found is None:
        return Move(*source, DENSE, dense[name].offset, max(tensor.entry.size, 1), 0)
    layer, section = found
    place = layout.section(section)
    return Move(*source, layer_name(layer), place.offset, place.size, layout.stride)


def _by_source(moves: Iterator[Move]) -> dict[str, tuple[Move, ...]]:
    found: dict[str, list[Move]] = {}
    for move in sorted(moves, key=lambda move: (move.source, move.offset, move.size)):
        found.setdefault(move.source, []).append(move)
    return {source: tuple(moves) for source, moves in found.items()}


def _layout(config: ModelConfig, tensors: Mapping[str, SourceTensor]) -> ExpertLayout:
    """The one layout that all layers share."""
    groups: dict[ExpertLayout, list[int]] = {}
    for layer, shapes in enumerate(_expert_shapes(config, tensors)):
        groups.setdefault(build_layout(config, shapes), []).append(layer)
    if len(groups) > 1:
        widths = (
            f"{width_name(expert_quantization(layout, config, SOURCE))} in {_numbers(layers)}"
            for layout, layers in groups.items()
        )
        raise UnsupportedModel(
            f"{SOURCE}'s experts differ from layer to layer: {'; '.join(widths)}.",
            "A container holds experts of one width: choose a checkpoint without mixed experts.",
        )
    return next(iter(groups))


def _numbers(layers: list[int]) -> str:
    word = "layer" if len(layers) == 1 else "layers"
    more = ", …" if len(layers) > 8 else ""
    return f"{word} {', '.join(map(str, layers[:8]))}{more}"


def _expert_shapes(
    config: ModelConfig, tensors: Mapping[str, SourceTensor]
) -> list[dict[str, tuple[str, tuple[int, ...]]]]:
    """For each layer, section name -> dtype and shape of one expert."""
    layers: list[dict[str, tuple[str, tuple[int, ...]]]] = [{} for _ in range(config.layer_count)]
    for name, tensor in tensors.items():
        found = expert_section(name)
        if found is None:
            continue
        layer, section = found
        shape = tensor.entry.shape
        if layer >= config.layer_count or shape[:1] != (config.expert_count,):
            raise BadContainer(
                f"{SOURCE}'s tensor {name} has shape {list(shape)}, expected "
                f"{config.expert_count} experts in one of {config.layer_count} layers.",
                REDOWNLOAD,
            )
        layers[layer][section] = (tensor.entry.dtype, shape[1:])
    for layer, shapes in enumerate(layers):
        if not shapes:
            raise BadContainer(f"{SOURCE} lacks the experts of layer {layer}.", REDOWNLOAD)
    return layers
