"""repack: a local MLX checkpoint becomes a container, in bounded memory and in several runs."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.container.checkpoint import Checkpoint, blaming_checkpoint, open_checkpoint
from engine.container.container import CONFIG, Container, open_container
from engine.container.files import chunks, read_bytes
from engine.container.installation import Installation
from engine.container.json_file import LARGEST_JSON
from engine.container.plan import make_plan
from engine.errors import Cancelled

SMALL_FILES = (
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
    "merges.txt",
    "added_tokens.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "chat_template.json",
)  # kept where the source has them


@dataclass(frozen=True, slots=True)
class RepackProgress:
    """`done` of `total` bytes are copied, or afterwards hashed."""

    phase: Literal["copy", "hash"]
    done: int
    total: int


def repack(
    source: Path,
    dest: Path,
    *,
    progress: Callable[[RepackProgress], None] = lambda progress: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Container:
    """Write the checkpoint at `source` as a container into the new or empty folder `dest`.

    A run that was stopped or killed goes on when it is started again. Raises BadCheckpoint,
    UnsupportedModel, BadOption (`dest` holds something else), NotEnoughDisk, Cancelled.
    """
    checkpoint = open_checkpoint(source)
    with blaming_checkpoint():
        plan = make_plan(checkpoint.config, checkpoint.tensors)
    with Installation(dest, plan, _source_id(checkpoint)) as installation:
        if installation.complete:
            installation.remove_journal()
        else:
            _copy(checkpoint, installation, _Meter("copy", plan.move_bytes, progress, cancelled))
            _finish(checkpoint, installation, progress, cancelled)
    return open_container(dest)


def _source_id(checkpoint: Checkpoint) -> str:
    """Changes when a file of the checkpoint is replaced."""
    files = sorted({tensor.file for tensor in checkpoint.tensors.values()})
    states = [(checkpoint.path / file).stat() for file in files]
    return " ".join(f"{state.st_size}:{state.st_mtime_ns}" for state in states)


def _copy(checkpoint: Checkpoint, installation: Installation, meter: "_Meter") -> None:
    meter.advance(installation.done_bytes)
    for source, moves in installation.plan.moves.items():
        ranges = installation.plan.ranges(source, installation.done(source))
        for start, stop in ranges:
            with blaming_checkpoint():
                for offset, part in chunks(checkpoint.path / source, start, stop):
                    installation.write(source, offset, part)
                    meter.advance(len(part))
        if ranges:
            installation.checkpoint(source, moves[-1].end)


def _finish(
    checkpoint: Checkpoint,
    installation: Installation,
    progress: Callable[[RepackProgress], None],
    cancelled: Callable[[], bool],
) -> None:
    with blaming_checkpoint():
        names = [name for name in SMALL_FILES if (checkpoint.path / name).exists()]
        small = {n: read_bytes(checkpoint.path / n, LARGEST_JSON) for n in (CONFIG, *names)}
    total = sum(installation.plan.sizes.values()) + sum(map(len, small.values()))
    installation.finish(
        model_name=checkpoint.model_type,
        source_name=checkpoint.name,
        small_files=small,
        advance=_Meter("hash", total, progress, cancelled).advance,
    )


class _Meter:
    """Counts bytes, reports them, and ends the work where it is no longer wanted."""

    def __init__(
        self,
        phase: Literal["copy", "hash"],
        total: int,
        progress: Callable[[RepackProgress], None],
        cancelled: Callable[[], bool],
    ) -> None:
        self._phase: Literal["copy", "hash"] = phase
        self._done = 0
        self._total = total
        self._progress = progress
        self._cancelled = cancelled

    def advance(self, count: int) -> None:
        if self._cancelled():
            raise Cancelled("Repacking was stopped.", "Run it again: it goes on where it stopped.")
        self._done += count
        self._progress(RepackProgress(self._phase, min(self._done, self._total), self._total))
