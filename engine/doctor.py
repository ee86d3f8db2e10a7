"""doctor: what this machine is to the engine, and what it would do with every installed model.

Facts in frozen records; the command line words them. The disk is measured by reading experts where
they lie, at random and past the page cache, as a running model would.
"""

import os
import platform
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import mlx.core as mx

from engine import __version__
from engine.container.container import Container, open_container
from engine.container.library import SUFFIX, built_in_model, models_folders
from engine.errors import MartletError
from engine.experts.files import empty_slots
from engine.experts.thread_probe import places, read_uncached, threads_for
from engine.loading import default_kernels
from engine.memory import machine
from engine.memory.condition import condition
from engine.memory.plan import check_fits, floor_bytes, plan_memory
from engine.memory.pressure import Pressure
from engine.model.kernels import Kernels
from engine.model.metal.kernels import MetalKernels
from engine.model.metal.proof import prove
from engine.model.metal.shader import ShaderState
from engine.protocol import PressureLevel, ThermalState

PROBE_BYTES = 256_000_000  # read at most, for a model's figure
PROBE_S = 2.0


@dataclass(frozen=True, slots=True)
class MachineReport:
    """The machine now. Bytes."""

    martlet: str
    python: str
    system: str
    processor: str
    cores: int
    total_bytes: int
    available_bytes: int
    gpu_bytes: int | None  # what a GPU lets a process use
    pressure: PressureLevel
    thermal: ThermalState
    low_power: bool
    mlx: str
    device: str
    activations: str  # dtype
    kernels: str


@dataclass(frozen=True, slots=True)
class ModelReport:
    """An installed model: what would be planned for it by default, or why it cannot run."""

    path: str
    plan: dict[str, int]  # bytes by what they are for; empty where there is a fault
    slots_per_layer: int
    expert_count: int
    disk_bytes_per_s: float | None  # None: not measured
    fault: str  # with its remedy; empty where the model would run
    shaders: tuple[ShaderState, ...] = ()  # proved at the model's shapes, where there is a GPU


@dataclass(frozen=True, slots=True)
class Report:
    """Everything."""

    machine: MachineReport
    models: tuple[ModelReport, ...]

    def to_json(self) -> dict[str, Any]:
        """A tree of what JSON knows."""
        return asdict(self)


def examine(*, probe_disk: bool = True) -> Report:
    """Look at the machine and at all models in the models folders, the built-in one first."""
    return Report(
        examine_machine(), tuple(examine_model(path, probe_disk) for path in installed_models())
    )


def examine_machine() -> MachineReport:
    """The machine as it is now."""
    kernels, state = default_kernels(), condition()
    return MachineReport(
        martlet=__version__,
        python=platform.python_version(),
        system=f"{platform.system()} {platform.release()} ({platform.machine()})",
        processor=_processor(),
        cores=os.cpu_count() or 1,
        total_bytes=machine.total_bytes(),
        available_bytes=machine.available_bytes(),
        gpu_bytes=machine.working_set_bytes(),
        pressure=Pressure().level(),
        thermal=state.thermal,
        low_power=state.low_power,
        mlx=version("mlx"),
        device=mx.default_device().type.name,
        activations=str(kernels.dtype).rpartition(".")[2],
        kernels=type(kernels).__name__,
    )


def examine_model(path: Path, probe_disk: bool = True) -> ModelReport:
    """One model. Its faults are part of the report."""
    try:
        container = open_container(path)
    except MartletError as error:
        return ModelReport(str(path), {}, 0, 0, None, str(error))
    speed = disk_speed(container) if probe_disk else None
    count = container.layout.expert_count
    try:
        plan = plan_memory(container, kernels=default_kernels())
        check_fits(plan, floor_bytes(plan, container.config.experts_per_token))
    except MartletError as error:
        return ModelReport(str(path), {}, 0, count, speed, str(error))
    parts = {k.removesuffix("_bytes"): v for k, v in asdict(plan).items() if k.endswith("_bytes")}
    shaders = proved_shaders(container, default_kernels())
    return ModelReport(str(path), parts, plan.slots_per_layer, count, speed, "", shaders)


def proved_shaders(container: Container, kernels: Kernels) -> tuple[ShaderState, ...]:
    """What a load of the model would find out about our shaders; nothing where none run."""
    if not isinstance(kernels, MetalKernels):
        return ()
    prove(kernels, container.config, empty_slots(container, 1))
    return tuple(kernels.states)


def installed_models() -> Iterator[Path]:
    """The built-in model, then what stands in the models folders."""
    if built_in_model().is_dir():
        yield built_in_model()
    for folder in models_folders():
        yield from sorted(folder.glob(f"*{SUFFIX}"))


def disk_speed(container: Container) -> float | None:
    """Bytes a second of expert reads as decode makes them; None where the disk fails."""
    stride = container.layout.stride
    wanted = islice(places(container), max(1, PROBE_BYTES // stride))
    deadline = time.monotonic() + PROBE_S

    def read(place: tuple[Path, int]) -> int:
        return 0 if time.monotonic() > deadline else read_uncached(*place, stride)

    threads, started = threads_for(container), time.perf_counter()
    try:
        with ThreadPoolExecutor(threads) as pool:
            count = sum(pool.map(read, wanted))
    except (MartletError, OSError):
        return None
    return count / (time.perf_counter() - started)


def _processor() -> str:
    """The processor's own name, where the system tells it."""
    if sys.platform == "darwin":
        name = mx.device_info().get("device_name", "")
        return str(name) or platform.processor()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
