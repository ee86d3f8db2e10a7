"""A container against the checkpoint it was made of, byte by byte.

The container's own layout and dense header say where a tensor should be, so that containers which
other programs wrote can be compared too.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.container.checkpoint import Checkpoint
from engine.container.container import DENSE, LAYOUT
from engine.container.files import CHUNK_BYTES, opened, read_into
from engine.container.inventory import by_bare_name, expert_section
from engine.container.json_file import read_object
from engine.container.layout import ExpertLayout, Section, parse_layout
from engine.container.plan import Move, SourceTensor, route
from engine.container.safetensors import TensorEntry, read_header
from engine.errors import BadContainer


@dataclass(frozen=True, slots=True)
class Fault:
    """A file that is not as it should be, and what is wrong with it."""

    file: str
    what: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What to compare: bare name -> move, and what needs no reading to be wrong."""

    moves: Mapping[str, Move]
    faults: tuple[Fault, ...]


def plan_comparison(path: Path, checkpoint: Checkpoint) -> Comparison:
    """Find each of the source's tensors in the container. Raises where its JSON is unreadable."""
    layout = parse_layout(read_object(path / LAYOUT), str(path / LAYOUT))
    header = read_header(path / DENSE)
    names = by_bare_name(header, str(path / DENSE))
    dense = {bare: header[name] for bare, name in names.items()}
    moves: dict[str, Move] = {}
    faults: dict[Fault, None] = {}  # one layer's wrong shape is every layer's
    for name, tensor in checkpoint.tensors.items():
        fault = _misplaced(name, tensor, layout, dense)
        if fault:
            faults[fault] = None
        else:
            moves[name] = route(name, tensor, layout, dense)
    for name in sorted(dense.keys() - checkpoint.tensors.keys()):
        faults[Fault(DENSE, f"{name} is not in the source.")] = None
    ordered = sorted(moves.items(), key=lambda item: (item[1].source, item[1].offset))
    return Comparison(dict(ordered), tuple(faults))


def _misplaced(
    name: str, tensor: SourceTensor, layout: ExpertLayout, dense: Mapping[str, TensorEntry]
) -> Fault | None:
    """What forbids comparing a tensor: it is missing, or of another dtype or shape."""
    expert, source = expert_section(name), tensor.entry
    place: TensorEntry | Section | None
    if expert is None:
        file, title, place, shape = DENSE, name, dense.get(name), source.shape
    else:
        layer, title = expert
        if source.shape[:1] != (layout.expert_count,) or layer >= layout.layer_count:
            return Fault(LAYOUT, "The source has another number of experts or layers.")
        place = next((section for section in layout.sections if section.name == title), None)
        file, shape = LAYOUT, source.shape[1:]
    if place is None:
        return Fault(file, f"{title} is missing.")
    if (place.dtype, place.shape) != (source.dtype, shape):
        found, expected = f"{place.dtype} {list(place.shape)}", f"{source.dtype} {list(shape)}"
        return Fault(file, f"{title} is {found}, the source has {expected}.")
    return None


def differences(
    path: Path, checkpoint: Checkpoint, moves: Mapping[str, Move], advance: Callable[[int], None]
) -> Iterator[Fault]:
    """The first difference of every tensor that differs. `advance` hears of compared bytes."""
    for name, move in moves.items():
        try:
            piece = _wrong_piece(path / move.target, checkpoint, move, advance)
        except BadContainer as error:
            yield Fault(move.target, error.message)
            continue
        if piece is not None:
            expert = expert_section(name)
            where = f"Expert {piece}'s {expert[1]}" if expert else name
            yield Fault(move.target, f"{where} differs from the source.")


def _wrong_piece(
    target: Path, checkpoint: Checkpoint, move: Move, advance: Callable[[int], None]
) -> int | None:
    """The number of the first piece that differs; None where none does."""
    buffer = memoryview(bytearray(CHUNK_BYTES))
    with opened(target) as fd:
        for offset, part in checkpoint.chunks(move.source, move.offset, move.end):
            for place, start, stop in move.pieces(offset, offset + len(part)):
                found = buffer[: stop - start]
                read_into(fd, found, place, target)
                # As bytes: memoryviews are compared item by item, many times slower.
                if bytes(found) != bytes(part[start - offset : stop - offset]):
                    return (start - move.offset) // move.piece
            advance(len(part))
    return None
