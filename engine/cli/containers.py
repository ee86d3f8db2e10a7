"""`martlet repack`, `verify` and `info`: containers, made and looked at."""

import argparse
import json
from pathlib import Path
from typing import Any

from engine.cli.terminal import StatusLine, say, warn
from engine.container.container import open_container
from engine.container.info import ContainerInfo, describe
from engine.container.library import find_model
from engine.container.progress import Progress
from engine.container.repack import repack
from engine.container.verify import verify
from engine.experts.integrity import write_sums
from engine.loading import default_kernels

PHASES = {"copy": "Copying", "hash": "Hashing", "compare": "Comparing"}


def add_commands(commands: Any) -> None:
    """Register the three."""
    packing = commands.add_parser("repack", help="make a container from an MLX checkpoint")
    packing.add_argument("source", type=Path, metavar="SOURCE", help="folder of the checkpoint")
    packing.add_argument("dest", type=Path, metavar="DEST", help="folder of the new container")
    packing.set_defaults(run=run_repack)

    verifying = commands.add_parser("verify", help="check every byte of a container")
    verifying.add_argument("model", metavar="MODEL")
    verifying.add_argument("--source", type=Path, metavar="CHECKPOINT", help="compare with this")
    verifying.add_argument(
        "--sums", action="store_true", help="if it is whole, note each expert's checksum"
    )
    verifying.set_defaults(run=run_verify)

    describing = commands.add_parser("info", help="what a container is and takes")
    describing.add_argument("model", metavar="MODEL")
    describing.add_argument("--json", action="store_true", help="print one object instead of text")
    describing.set_defaults(run=run_info)


def run_repack(parsed: argparse.Namespace) -> int:
    """Make the container; say where it is and how large."""
    status = StatusLine()
    container = repack(parsed.source, parsed.dest, progress=lambda p: status.show(_progress(p)))
    status.clear()
    say(f"{container.path}: {container.total_bytes / 1e9:.2f} GB, complete.")
    return 0


def run_verify(parsed: argparse.Namespace) -> int:
    """List every fault; 4 where there is one."""
    status = StatusLine()
    path = find_model(parsed.model)
    report = verify(path, parsed.source, progress=lambda p: status.show(_progress(p)))
    status.clear()
    for fault in report.faults:
        warn(f"{fault.file}: {fault.what}")
    if not report.ok:
        warn(f"martlet: {path} is damaged ({len(report.faults)} faults). Download it again.")
        return 4
    compared = f", {report.compared_count} tensors equal to the source" if parsed.source else ""
    say(f"{path}: {report.file_count} files, {report.hashed_count} hashes right{compared}.")
    if parsed.sums:
        say(f"{write_sums(open_container(path))}: for --check-reads.")
    return 0


def run_info(parsed: argparse.Namespace) -> int:
    """Print the figures."""
    info = describe(open_container(find_model(parsed.model)), kernels=default_kernels())
    say(json.dumps(info.to_json(), indent=1) if parsed.json else _text(info))
    return 0


def _progress(progress: Progress) -> str:
    share = progress.done / max(1, progress.total)
    return f"{PHASES[progress.phase]} {share:.0%} ({progress.done / 1e9:.2f} GB)"


def _text(info: ContainerInfo) -> str:
    widths = f"{info.expert_bits} bits" if info.expert_bits else "plain floats"
    lines = [
        info.path,
        f"  family    {info.family}, from {info.source}",
        f"  layers    {info.layer_count}, {info.linear_layer_count} of them Gated DeltaNet",
        f"  experts   {info.expert_count} a layer, {info.experts_per_token} a token, {widths}",
        f"  context   {info.context_length:,} tokens, vocabulary {info.vocab_size:,}",
        f"  on disk   {_size(info.total_bytes)}: dense {_size(info.dense_bytes)}, experts "
        f"{_size(info.experts_bytes)} ({_size(info.expert_bytes)} each)",
        "  memory    slots a layer, of them, in all",
    ]
    lines += [
        f"            {row.slots:5} {_size(row.slot_bytes):>10} {_size(row.total_bytes):>10}"
        for row in info.memory
    ]
    return "\n".join([*lines, *(f"  warning   {warning}" for warning in info.warnings)])


def _size(count: int) -> str:
    if count >= 10**9:
        return f"{count / 1e9:.2f} GB"
    return f"{count / 1e6:.2f} MB" if count >= 10**6 else f"{count:,} B"
