"""Fits here? What a model would take on this machine, and how fast it would be: an estimate.

A token takes the time of its products (bytes through memory), of a pause in each layer, and of the
experts that are not resident (bytes from the disk), one after the other. The sum is what engines of
this kind were measured at.
"""

import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Literal

from engine.config import ModelConfig
from engine.container.layout import ExpertLayout
from engine.container.volume import wanted_room
from engine.memory.share import pool_bytes

USED_BANDWIDTH = 0.7  # of the memory's nominal rate, reached by good kernels
LAYER_S = 0.0002  # a layer's routing from the GPU to the CPU, or as much for launching its kernels
SLOW_TOKENS_PER_S = 3.0
PROGRAM_BYTES = 1_150_000_000  # conversation, scratch, the program: as planned for these families
STAGED_EXPERTS = 16  # a group of a sweep; two are in memory

# Share of a layer's experts resident -> share of look-ups that hit, measured on long texts.
_HITS = (
    (0.0, 0.0), (0.025, 0.40), (0.05, 0.50), (0.10, 0.64), (0.20, 0.77), (0.30, 0.83),
    (0.44, 0.91), (0.70, 0.95), (0.90, 0.97), (1.0, 1.0),
)  # fmt: skip

# Nominal memory bandwidth in GB/s, of the smallest variant where a chip has several.
_CHIPS = {
    "M1": 68, "M1 Pro": 200, "M1 Max": 400, "M1 Ultra": 800,
    "M2": 100, "M2 Pro": 200, "M2 Max": 400, "M2 Ultra": 800,
    "M3": 100, "M3 Pro": 150, "M3 Max": 300, "M3 Ultra": 800,
    "M4": 120, "M4 Pro": 273, "M4 Max": 410,
    "M5": 153, "M5 Pro": 307, "M5 Max": 460,
}  # fmt: skip
_OTHER_CHIP = 120  # GB/s, of a Mac that is not in the table

Verdict = Literal["fits", "slow", "memory", "disk"]


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The numbers of a model that decide. Bytes."""

    layer_count: int
    expert_count: int  # a layer
    experts_per_token: int  # a layer
    expert_bytes: int
    dense_bytes: int  # the tensors beside the experts
    embedding_bytes: int  # of them, the table on the disk of which a token reads one row
    fixed_bytes: int  # memory before any expert: what stays resident, state, scratch, the program
    disk_bytes: int

    @property
    def floor_bytes(self) -> int:
        """The least memory it runs in: one token's experts in every layer."""
        return self.fixed_bytes + self.experts_per_token * self.row_bytes

    @property
    def row_bytes(self) -> int:
        """One expert in every layer."""
        return self.layer_count * self.expert_bytes


def shape_of(
    config: ModelConfig, layout: ExpertLayout, dense_bytes: int, disk_bytes: int
) -> ModelShape:
    """The numbers that decide whether a model fits."""
    program = PROGRAM_BYTES + 2 * STAGED_EXPERTS * layout.stride
    embedding = 0 if config.tie_word_embeddings else min(_embedding_bytes(config), dense_bytes)
    return ModelShape(
        layer_count=layout.layer_count,
        expert_count=layout.expert_count,
        experts_per_token=config.experts_per_token,
        expert_bytes=layout.stride,
        dense_bytes=dense_bytes,
        embedding_bytes=embedding,
        fixed_bytes=dense_bytes - embedding + program,
        disk_bytes=disk_bytes,
    )


def _embedding_bytes(config: ModelConfig) -> int:
    weights = config.vocab_size * config.hidden_size
    quantization = config.module_quantization("model.embed_tokens")
    if quantization is None:
        return 2 * weights
    return weights * quantization.bits // 8 + weights // quantization.group_size * 4


@dataclass(frozen=True, slots=True)
class Machine:
    """What matters of a machine. `read_bytes_per_s`: None until the disk was probed."""

    memory_bytes: int
    memory_bytes_per_s: float
    read_bytes_per_s: float | None
    free_bytes: int  # on the volume that the model would go to


@dataclass(frozen=True, slots=True)
class Fit:
    """The estimate. `words` are for a person; `reason` says why a verdict is not "fits"."""

    verdict: Verdict
    words: str
    reason: str
    memory_bytes: int
    tokens_per_s: float | None  # None: the disk was not probed


def fits_here(shape: ModelShape, machine: Machine, *, installed: bool = False) -> Fit:
    """How `shape` would do on `machine`. A verdict never forbids: people may try anyway."""
    slots = planned_slots(shape, machine.memory_bytes)
    memory = shape.fixed_bytes + max(slots, shape.experts_per_token) * shape.row_bytes
    speed = tokens_per_s(shape, machine, slots)
    words = _words(speed, memory)
    verdict, reason = _verdict(shape, machine, slots, speed, installed)
    return Fit(verdict, words, reason, memory, speed)


def planned_slots(shape: ModelShape, memory_bytes: int) -> int:
    """Experts of a layer that would be resident; fewer than a token needs where it does not fit."""
    target = min(memory_bytes * 5 // 8, shape.fixed_bytes + pool_bytes(memory_bytes))
    return max(0, min((target - shape.fixed_bytes) // shape.row_bytes, shape.expert_count))


def hit_rate(share: float) -> float:
    """Look-ups that find their expert, where `share` of each layer's experts is resident."""
    for (x0, y0), (x1, y1) in pairwise(_HITS):
        if share <= x1:
            return y0 + (y1 - y0) * (share - x0) / (x1 - x0)
    return 1.0


def tokens_per_s(shape: ModelShape, machine: Machine, slots: int) -> float | None:
    """The formula; None where the disk's speed is not known and counts."""
    experts = shape.experts_per_token * shape.row_bytes
    touched = shape.dense_bytes - shape.embedding_bytes + experts
    seconds = touched / (USED_BANDWIDTH * machine.memory_bytes_per_s)
    seconds += shape.layer_count * LAYER_S
    missed = experts * (1.0 - hit_rate(slots / shape.expert_count))
    if missed:
        if not machine.read_bytes_per_s:
            return None
        seconds += missed / machine.read_bytes_per_s
    return 1.0 / seconds


def _verdict(
    shape: ModelShape, machine: Machine, slots: int, speed: float | None, installed: bool
) -> tuple[Verdict, str]:
    if slots < shape.experts_per_token:
        return "memory", (
            f"Needs {_gb(shape.floor_bytes)} for itself; this machine has "
            f"{_gb(machine.memory_bytes)} in all."
        )
    missing = wanted_room(shape.disk_bytes) - machine.free_bytes
    if missing > 0 and not installed:
        return "disk", f"{_gb(missing)} more disk space needed."
    if speed is not None and speed < SLOW_TOKENS_PER_S:
        return "slow", "The disk is slow, or the memory holds few of its experts."
    return "fits", ""


def _words(speed: float | None, memory: int) -> str:
    uses = f"uses {_gb(memory)}"
    if speed is None:
        return f"U{uses[1:]}"
    if speed < SLOW_TOKENS_PER_S:
        return f"Slow here: {_count(speed)} · {uses}"
    return f"About {_count(speed)} · {uses}"


def _count(speed: float) -> str:
    whole = round(speed)
    if whole < 1:
        return "less than 1 token/s"
    return f"{whole} token{'s' if whole > 1 else ''}/s"


def _gb(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count < 10**11 else f"{count / 1e9:.0f} GB"


@cache
def memory_bandwidth() -> float:
    """Bytes a second: by the chip's name on a Mac, elsewhere what one core can copy."""
    if sys.platform == "darwin":
        return 1e9 * chip_bandwidth(_chip())
    block, copy = bytes(1 << 26), bytearray(1 << 26)
    copy[:] = block  # the first touch is slow
    start = time.perf_counter()
    copy[:] = block
    return 2.0 * len(block) / (time.perf_counter() - start)  # each byte is read and written


def chip_bandwidth(name: str) -> int:
    """GB/s of a chip as macOS names it: "Apple M4 Pro"."""
    return _CHIPS.get(name.removeprefix("Apple ").strip(), _OTHER_CHIP)


def _chip() -> str:
    command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
