"""Options that commands share: which model, how much memory, how to draw tokens."""

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.errors import BadOption
from engine.experts.integrity import CHECKED_READS
from engine.options import GenerationOptions
from engine.snapshot_folder import SHELF_BYTES

_UNITS = {
    "": 1, "b": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip


def parse_bytes(text: str) -> int:
    """`2GB`, `1.5 GiB`, `800mb` or plain bytes."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", text)
    unit = _UNITS.get(match[2].lower()) if match else None
    if match is None or unit is None:
        raise BadOption(f"{text!r} is not a size.", "Write it like 2GB or 800MB.")
    return int(float(match[1]) * unit)


def add_model(parser: argparse.ArgumentParser) -> None:
    """MODEL, and how much of it may be in memory."""
    parser.add_argument("model", metavar="MODEL", help="a path, or a name; `demo` is built in")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--memory", metavar="SIZE", help="keep within this much, like 2GB")
    size.add_argument("--slots", type=_whole("--slots"), metavar="N", help="experts a layer")
    parser.add_argument(
        "--threads",
        type=_whole("--threads"),
        metavar="N",
        help="reader threads (default: as the disk likes)",
    )
    parser.add_argument(
        "--direct-reads",
        action=argparse.BooleanOptionalAction,
        help="read past the system's page cache (default: on Linux, where that has no room)",
    )
    parser.add_argument(
        "--check-reads",
        action="store_true",
        help=f"hold one in {CHECKED_READS} expert reads against its checksum",
    )


def add_snapshots(parser: argparse.ArgumentParser) -> None:
    """Where conversations are kept beyond the process."""
    parser.add_argument(
        "--snapshots",
        metavar="FOLDER",
        type=Path,
        help="keep what was read of conversations here, to read less next time (default: nowhere)",
    )
    parser.add_argument("--snapshots-size", metavar="SIZE", help="at most (default: 4GB)")


def snapshot_options(parsed: argparse.Namespace) -> tuple[Path, int] | None:
    """What `add_snapshots` was given: a folder and its bytes. Raises BadOption."""
    size = SHELF_BYTES if parsed.snapshots_size is None else parse_bytes(parsed.snapshots_size)
    if parsed.snapshots is not None:
        return parsed.snapshots, size
    if parsed.snapshots_size is not None:
        raise BadOption("--snapshots-size has no folder.", "Name one with --snapshots.")
    return None


def add_sampling(parser: argparse.ArgumentParser) -> None:
    """How tokens are drawn; without an option, as the model's authors advise."""
    sampling = parser.add_argument_group("sampling")
    for name, kind, words in (
        ("temperature", float, "0: always the likeliest"),
        ("top-k", int, "of the K likeliest; 0: off"),
        ("top-p", float, "of the likeliest that hold this share"),
        ("min-p", float, "of those with this share of the likeliest one's chance"),
        ("repetition-penalty", float, "1: off"),
        ("presence-penalty", float, "-2 to 2"),
        ("frequency-penalty", float, "-2 to 2"),
        ("seed", int, "the same answer again"),
        ("max-tokens", int, "end the answer here"),
    ):
        convert = _whole(f"--{name}") if kind is int else _number(f"--{name}")
        sampling.add_argument(f"--{name}", type=convert, metavar="N", help=words)
    sampling.add_argument("--stop", action="append", default=[], metavar="TEXT")


def add_thinking(parser: argparse.ArgumentParser) -> None:
    """Whether the model reasons before it answers."""
    parser.add_argument(
        "--think",
        action=argparse.BooleanOptionalAction,
        help="reason before answering (default: as the model's template does)",
    )


def generation_options(parsed: argparse.Namespace) -> GenerationOptions:
    """What `add_sampling` and `add_thinking` were given. Raises BadOption."""
    return GenerationOptions(
        temperature=parsed.temperature,
        top_k=parsed.top_k,
        top_p=parsed.top_p,
        min_p=parsed.min_p,
        repetition_penalty=parsed.repetition_penalty,
        presence_penalty=parsed.presence_penalty,
        frequency_penalty=parsed.frequency_penalty,
        seed=parsed.seed,
        max_tokens=parsed.max_tokens,
        stop=tuple(parsed.stop),
        thinking=getattr(parsed, "think", None),
    )


def loading_options(parsed: argparse.Namespace) -> dict[str, Any]:
    """What `add_model` was given, for `load_model`. Raises BadOption."""
    given: dict[str, Any] = {"slots": parsed.slots, "direct_reads": parsed.direct_reads}
    if parsed.check_reads:
        given["check_reads"] = CHECKED_READS
    if parsed.memory is not None:
        given["memory_bytes"] = parse_bytes(parsed.memory)
    if parsed.threads is not None:
        if not 1 <= parsed.threads <= 64:
            raise BadOption(f"--threads is {parsed.threads}.", "Use 1 to 64.")
        given["reader_threads"] = parsed.threads
    return given


def _whole(option: str) -> Callable[[str], int]:
    return lambda text: _converted(option, text, int, "a whole number")


def _number(option: str) -> Callable[[str], float]:
    return lambda text: _converted(option, text, float, "a number")


def _converted(option: str, text: str, kind: Callable[[str], Any], wanted: str) -> Any:
    try:
        return kind(text)
    except ValueError as error:
        raise BadOption(f"{option} is {text!r}.", f"Give {wanted}.") from error
