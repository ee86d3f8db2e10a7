"""`martlet doctor`: the machine, and what each installed model would take on it."""

import argparse
import json
from collections.abc import Iterator
from typing import Any

from engine.cli.terminal import StatusLine, say
from engine.doctor import MachineReport, ModelReport, examine

WORDS = {
    "NativeKernels": "native core",
    "PlainKernels": "MLX formulas",
    "MetalKernels": "Metal shaders, each proved when a model is loaded",
}
PARTS = {
    "dense": "core",
    "slots": "experts",
    "state": "conversation",
    "snapshots": "snapshots",
    "staging": "staging",
    "scratch": "scratch",
    "allocator": "allocator",
    "interpreter": "program",
}


def add_commands(commands: Any) -> None:
    """Register `doctor`."""
    parser = commands.add_parser("doctor", help="look at this machine", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one object instead of text")
    parser.add_argument(
        "--no-disk", dest="disk", action="store_false", help="do not measure the disk"
    )
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Examine and tell; 0 whatever is found."""
    status = StatusLine()
    status.show("Looking at the machine and the models")
    report = examine(probe_disk=parsed.disk)
    status.clear()
    if parsed.json:
        say(json.dumps(report.to_json(), ensure_ascii=False))
        return 0
    say("\n".join(_machine_lines(report.machine)))
    for model in report.models:
        say("\n".join(_model_lines(model)))
    return 0


def _machine_lines(found: MachineReport) -> Iterator[str]:
    yield f"Martlet {found.martlet}, Python {found.python}, MLX {found.mlx}"
    yield f"  system    {found.system}"
    yield f"  processor {found.processor}, {found.cores} cores"
    free = f"{_gb(found.available_bytes)} of {_gb(found.total_bytes)} free"
    gpu = f", {_gb(found.gpu_bytes)} for the GPU" if found.gpu_bytes else ""
    yield f"  memory    {free}{gpu}; pressure {found.pressure}"
    power = ", Low Power Mode" if found.low_power else ""
    yield f"  heat      {found.thermal}{power}"
    kernels = WORDS.get(found.kernels, found.kernels)
    yield f"  backend   {found.device}, {found.activations} activations, {kernels}"


def _model_lines(model: ModelReport) -> Iterator[str]:
    yield model.path
    if model.plan:
        total = sum(model.plan.values())
        yield f"  plan      {_gb(total)}: {model.slots_per_layer} of {model.expert_count} experts"
        parts = (f"{PARTS.get(name, name)} {_gb(size)}" for name, size in model.plan.items())
        yield f"            {', '.join(parts)}"
    if model.disk_bytes_per_s is not None:
        yield f"  disk      {_gb(round(model.disk_bytes_per_s))}/s of expert reads"
    for shader in model.shaders:
        if not shader.on:
            yield f"  shader    {shader.group} is off: {shader.reason}"
    if model.fault:
        yield f"  fault     {model.fault}"


def _gb(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 10**9 else f"{count / 1e6:.0f} MB"
