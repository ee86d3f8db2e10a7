"""repack: a local MLX checkpoint becomes a container, in bounded memory and in several runs."""

from collections.abc import Callable
from pathlib import Path

from engine.container.checkpoint import Checkpoint, blaming_checkpoint, open_checkpoint
from engine.container.container import CONFIG, Container, open_container
from engine.container.files import names_in, read_bytes
from engine.container.installation import Installation
from engine.container.plan import make_plan
from engine.container.progress import Meter, Report, never, unheard

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
LARGEST_SMALL_FILE = 64 << 20  # bytes; real tokenizers have 20 MB


def repack(
    source: Path,
    dest: Path,
    *,
    progress: Report = unheard,
    cancelled: Callable[[], bool] = never,
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
            _copy(checkpoint, installation, Meter("copy", plan.move_bytes, progress, cancelled))
            _finish(checkpoint, installation, progress, cancelled)
    return open_container(dest)


def _source_id(checkpoint: Checkpoint) -> str:
    """Changes when a file of the checkpoint is replaced."""
    files = sorted({tensor.file for tensor in checkpoint.tensors.values()})
    states = [(checkpoint.path / file).stat() for file in files]
    return " ".join(f"{state.st_size}:{state.st_mtime_ns}" for state in states)


def _copy(checkpoint: Checkpoint, installation: Installation, meter: Meter) -> None:
    meter.advance(installation.done_bytes)
    for source, moves in installation.plan.moves.items():
        ranges = installation.plan.ranges(source, installation.done(source))
        for start, stop in ranges:
            for offset, part in checkpoint.chunks(source, start, stop):
                installation.write(source, offset, part)
                meter.advance(len(part))
        if ranges:
            installation.checkpoint(source, moves[-1].end)


def _finish(
    checkpoint: Checkpoint,
    installation: Installation,
    progress: Report,
    cancelled: Callable[[], bool],
) -> None:
    with blaming_checkpoint():
        there = names_in(checkpoint.path)
        names = [name for name in SMALL_FILES if name in there]
        small = {n: read_bytes(checkpoint.path / n, LARGEST_SMALL_FILE) for n in (CONFIG, *names)}
    total = sum(installation.plan.sizes.values())
    installation.finish(
        model_name=checkpoint.model_type,
        source_name=checkpoint.name,
        small_files=small,
        advance=Meter("hash", total, progress, cancelled).advance,
    )
