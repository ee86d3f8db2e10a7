"""A container against the checkpoint it was made of, byte by byte.

The container's own layout and dense header say where a tensor should be, so that containers which
other programs wrote can be compared too.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.container.checkpoint import Checkpoint, blaming_checkpoint
from engine.container.container import DENSE, LAYOUT
from engine.container.files import chunks, opened, read_into
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

    @property
    def total_bytes(self) -> int:
        """Bytes of the source that are compared."""
        return sum(move.size for move in self.moves.values())


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
        if source.shape[0] != layout.expert_count or layer >= layout.layer_count:
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
    path: Path, checkpoint: Checkpoint, comparison: Comparison, advance: Callable[[int], None]
) -> Iterator[Fault]:
    """The first difference of every tensor that differs. `advance` hears of compared bytes."""
    for name, move in comparison.moves.items():
        with blaming_checkpoint():
            for offset, part in chunks(checkpoint.path / move.source, move.offset, move.end):
                wrong = _wrong_piece(path / move.target, move, offset, part)
                advance(len(part))
                if wrong is not None:
                    yield Fault(move.target, _sentence(name, wrong))
                    break


def _wrong_piece(target: Path, move: Move, offset: int, part: memoryview) -> int | None:
    """The number of the first piece that differs within a range of the source; None for none."""
    buffer = memoryview(bytearray(len(part)))
    try:
        with opened(target) as fd:
            for place, start, stop in move.pieces(offset, offset + len(part)):
                found = buffer[: stop - start]
                read_into(fd, found, place, target)
                if found != part[start - offset : stop - offset]:
                    return (start - move.offset) // move.piece
    except BadContainer:
        return (offset - move.offset) // move.piece  # shorter than its tensors: differs here
    return None


def _sentence(name: str, piece: int) -> str:
    expert = expert_section(name)
    where = f"Expert {piece}'s {expert[1]}" if expert else name
    return f"{where} differs from the source."
