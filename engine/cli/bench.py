"""`martlet bench`: how fast a model runs on this machine, by a fixed protocol."""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.options import add_model, loading_options
from engine.cli.terminal import StatusLine, say
from engine.container.library import find_model
from engine.errors import BadOption

if TYPE_CHECKING:
    from engine.benchmark import Answered, Benchmark
    from engine.doctor import MachineReport
    from engine.memory.plan import MemoryPlan
    from engine.rival import Rival


def add_commands(commands: Any) -> None:
    """Register `bench`."""
    parser = commands.add_parser("bench", help="measure a model's speed", description=__doc__)
    add_model(parser)
    parser.add_argument("--json", action="store_true", help="print one object instead of text")
    parser.add_argument(
        "--max-tokens", type=int, default=256, metavar="N", help="of an answer (default: 256)"
    )
    parser.add_argument("--against", choices=("mlx-lm",), help="measure it, too, in the same run")
    parser.add_argument(
        "--checkpoint", type=Path, metavar="FOLDER", help="the MLX checkpoint for --against"
    )
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Measure and tell."""
    from engine.benchmark import benchmark, prompts_for  # these bring in MLX
    from engine.doctor import disk_speed, examine_machine
    from engine.loading import load_model
    from engine.rival import check_rival, run_rival

    if parsed.max_tokens < 1:
        raise BadOption(f"--max-tokens is {parsed.max_tokens}.", "Use at least 1.")
    model = load_model(find_model(parsed.model), **loading_options(parsed))
    against = parsed.against and check_rival(parsed.checkpoint, model.config)
    status, found = StatusLine(), examine_machine()
    status.show("measuring the disk")
    disk, prompts = disk_speed(model.container), prompts_for(model)
    result = benchmark(model, parsed.max_tokens, status.show)
    name, plan = model.container.path.stem, model.plan
    model.close()
    del model  # its memory is mlx-lm's now
    counts = [answer.generated_tokens for answer in result.warm]
    rival = run_rival(against, prompts, counts, status.show) if against else None
    status.clear()
    if parsed.json:
        say(json.dumps(_record(name, found, disk, plan, result, rival)))
    else:
        say("\n".join(_lines(name, found, disk, plan, result, rival)))
    return 0


def _record(
    name: str,
    found: "MachineReport",
    disk: float | None,
    plan: "MemoryPlan",
    result: "Benchmark",
    rival: "Rival | None",
) -> dict[str, Any]:
    return {
        "model": name,
        "machine": asdict(found),
        "disk_bytes_per_s": disk,
        "plan": asdict(plan),
        **asdict(result),
        "mlx_lm": asdict(rival) if rival else None,
    }


def _lines(
    name: str,
    found: "MachineReport",
    disk: float | None,
    plan: "MemoryPlan",
    result: "Benchmark",
    rival: "Rival | None",
) -> Iterator[str]:
    yield f"{name}, Martlet {found.martlet}, MLX {found.mlx}, {found.device}, {found.kernels}"
    memory = f"{found.total_bytes / 1e9:.0f} GB of memory"
    yield f"  machine   {found.processor}, {found.cores} cores, {memory}, {found.system}"
    speed = f"{disk / 1e9:.2f} GB/s of expert reads" if disk else "could not be measured"
    yield f"  disk      {speed}"
    yield f"  plan      {plan.total_bytes / 1e9:.2f} GB, {plan.slots_per_layer} experts a layer"
    how = "files dropped from the system's cache" if result.files_dropped else "slots emptied only"
    yield f"  cold      {_rates(result.cold)} ({how})"
    yield f"  warm      {_rates(result.warm)}"
    told = result.anatomy
    yield (
        f"  a token   {told.disk_ms:.1f} ms disk, {told.compute_ms:.1f} compute, "
        f"{told.python_ms:.1f} Python; {told.readbacks:.0f} readbacks, "
        f"{told.operations:.0f} graph operations"
    )
    yield f"  peak      {result.peak_bytes / 1e9:.2f} GB"
    if rival:
        yield from _compared(result, rival)


def _rates(answers: "Sequence[Answered]") -> str:
    from engine.benchmark import middle

    ends = "natural ends" if all(a.natural for a in answers) else "some cut short"
    return (
        f"prefill {middle(answers, lambda a: a.prefill_tokens_per_s):.1f} tokens/s, "
        f"decode {middle(answers, lambda a: a.decode_tokens_per_s):.2f}, "
        f"{middle(answers, lambda a: a.hit_rate):.0%} hits, "
        f"{middle(answers, lambda a: a.bytes_per_s) / 1e9:.2f} GB/s read; "
        f"{sum(a.generated_tokens for a in answers)} tokens, {ends}"
    )


def _compared(result: "Benchmark", rival: "Rival") -> Iterator[str]:
    """Prompt by prompt, ours warm."""
    for number, (ours, theirs) in enumerate(zip(result.warm, rival.answers, strict=True), 1):
        decode = _ratio(ours.decode_tokens_per_s, theirs.decode_tokens_per_s)
        prefill = _ratio(ours.prefill_tokens_per_s, theirs.prefill_tokens_per_s)
        yield (
            f"  mlx-lm {rival.version}, prompt {number} ({ours.prompt_tokens} tokens): "
            f"prefill {theirs.prefill_tokens_per_s:.1f} ({prefill}), "
            f"decode {theirs.decode_tokens_per_s:.2f} ({decode})"
        )


def _ratio(ours: float, theirs: float) -> str:
    return f"ours {ours / theirs:.2f} times" if theirs > 0 else "nothing to compare"
