"""verify: is every byte of a container what it should be? Lists all that is wrong, not the first.

Three degrees: the sizes that the manifest and the layout name; the hashes in hashes.json; and,
where the source checkpoint is at hand, every expert section and dense tensor against its bytes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from engine.container.checkpoint import Checkpoint, open_checkpoint
from engine.container.comparison import Fault, differences, plan_comparison
from engine.container.container import LAYOUT, MANIFEST, layer_name, open_container
from engine.container.files import file_size, names_in
from engine.container.hashes import HASHES, hash_file, read_hashes
from engine.container.json_file import read_object
from engine.container.layout import parse_layout
from engine.container.manifest import parse_manifest
from engine.container.plan import Move
from engine.container.progress import Meter, Report, never, unheard
from engine.errors import BadContainer, UnsupportedModel

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was looked at and what was found."""

    file_count: int  # files looked at
    hashed_count: int  # of them, those whose SHA-256 was compared; 0 without a hashes.json
    compared_count: int  # tensors compared with the source; 0 without one
    faults: tuple[Fault, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


def verify(
    path: Path,
    source: Path | None = None,
    *,
    progress: Report = unheard,
    cancelled: Callable[[], bool] = never,
) -> VerifyReport:
    """Check the container at `path`; with `source`, also against the checkpoint it was made of.

    Raises ModelNotFound, Cancelled, and the errors of `open_checkpoint` for the source.
    """
    names_in(path)  # a folder at least
    checkpoint = open_checkpoint(source) if source else None
    faults: list[Fault] = []
    sizes = _attempt(LAYOUT, faults, lambda: _layout_sizes(path)) or {}
    sizes |= _attempt(MANIFEST, faults, lambda: _manifest_sizes(path)) or {}
    hashes = _attempt(HASHES, faults, lambda: read_hashes(path)) or {}
    names = sorted(sizes.keys() | hashes.keys())
    for name in names:
        _attempt(name, faults, partial(_check_size, path / name, sizes.get(name)))
    damaged = {fault.file for fault in faults}
    hashes = {name: digest for name, digest in hashes.items() if name not in damaged}
    meter = Meter("hash", sum(file_size(path / name) for name in hashes), progress, cancelled)
    for name, digest in sorted(hashes.items()):
        _attempt(name, faults, partial(_check_hash, path / name, digest, meter.advance))
    compared = 0
    if checkpoint:
        moves = _planned_moves(path, checkpoint, damaged, faults)
        meter = Meter("compare", sum(m.size for m in moves.values()), progress, cancelled)
        faults += differences(path, checkpoint, moves, meter.advance)
        compared = len(moves)
    if not faults:
        _attempt(str(path), faults, lambda: open_container(path))
    return VerifyReport(len(names), len(hashes), compared, tuple(faults))


def _attempt(file: str, faults: list[Fault], check: Callable[[], T]) -> T | None:
    """The result of a check of `file`; None where it found damage, which joins `faults`."""
    try:
        return check()
    except (BadContainer, UnsupportedModel) as error:
        faults.append(Fault(file, error.message))
        return None


def _layout_sizes(path: Path) -> dict[str, int]:
    layout = parse_layout(read_object(path / LAYOUT), str(path / LAYOUT))
    return dict.fromkeys(map(layer_name, range(layout.layer_count)), layout.layer_bytes)


def _manifest_sizes(path: Path) -> dict[str, int]:
    return dict(parse_manifest(read_object(path / MANIFEST), str(path / MANIFEST)).files)


def _check_size(path: Path, expected: int | None) -> None:
    found = file_size(path)
    if expected is not None and found != expected:
        raise BadContainer(f"It has {found} bytes, expected {expected}.")


def _check_hash(path: Path, expected: str, advance: Callable[[int], None]) -> None:
    found = hash_file(path, advance)
    if found != expected:
        raise BadContainer(f"Its SHA-256 is {found}, expected {expected}.")


def _planned_moves(
    path: Path, checkpoint: Checkpoint, damaged: set[str], faults: list[Fault]
) -> dict[str, Move]:
    """The tensors that can be compared: of the right shape, in files of the right size."""
    comparison = _attempt(str(path), faults, lambda: plan_comparison(path, checkpoint))
    if comparison is None:
        return {}
    faults += comparison.faults
    return {n: move for n, move in comparison.moves.items() if move.target not in damaged}
