"""A container's expert files made by hand: random bytes in the shape of small experts."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.config import ModelConfig, parse_config
from engine.container.layout import ExpertLayout, Section
from engine.experts.slots import LayerSlots
from tests.engine.tiny import make_config

EXPERTS = 12
LAYERS = 2
TOP_K = 3
STRIDE = 8192

QUANTIZED = (
    ("gate_proj.weight", "U32", (32, 8)),
    ("gate_proj.scales", "BF16", (32, 2)),
    ("gate_proj.biases", "BF16", (32, 2)),
    ("up_proj.weight", "U32", (32, 8)),
    ("up_proj.scales", "BF16", (32, 2)),
    ("up_proj.biases", "BF16", (32, 2)),
    ("down_proj.weight", "U32", (64, 4)),
    ("down_proj.scales", "BF16", (64, 1)),
    ("down_proj.biases", "BF16", (64, 1)),
)
PLAIN = (
    ("down_proj.weight", "F16", (32, 16)),
    ("gate_proj.weight", "F16", (16, 32)),
    ("up_proj.weight", "F16", (16, 32)),
)
ITEM_BYTES = {"U32": 4, "BF16": 2, "F16": 2, "F32": 4}


@dataclass(frozen=True)
class Handmade:
    """What ExpertCache asks of a container."""

    folder: Path
    config: ModelConfig
    layout: ExpertLayout
    expert_bits: int
    expert_group_size: int

    def layer_path(self, layer: int) -> Path:
        return self.folder / f"layer_{layer:02d}.bin"

    def blob(self, layer: int, expert: int) -> bytes:
        """The bytes of an expert, without padding, as they lie in the file."""
        with self.layer_path(layer).open("rb") as file:
            file.seek(expert * self.layout.stride)
            return file.read(self.layout.payload)


def make_layout(
    shapes: tuple[tuple[str, str, tuple[int, ...]], ...] = QUANTIZED,
    experts: int = EXPERTS,
    layers: int = LAYERS,
    stride: int = STRIDE,
) -> ExpertLayout:
    sections, offset = [], 0
    for name, dtype, shape in shapes:
        size = int(np.prod(shape)) * ITEM_BYTES[dtype]
        sections.append(Section(name, dtype, shape, offset, size))
        offset += size
    return ExpertLayout(experts, layers, stride, tuple(sections), (True,) * layers)


def describe(folder: Path, layout: ExpertLayout, top_k: int = TOP_K) -> Handmade:
    """A container of that layout, whose files are yet to be written."""
    config = parse_config(make_config(num_experts=layout.expert_count, num_experts_per_tok=top_k))
    quantized = len(layout.sections) > 3
    return Handmade(folder, config, layout, 4 if quantized else 0, 32 if quantized else 0)


def make_files(
    folder: Path, layout: ExpertLayout | None = None, top_k: int = TOP_K, seed: int = 0
) -> Handmade:
    """Write the layer files, every byte of them random, padding too."""
    made = describe(folder, layout or make_layout(), top_k)
    random = np.random.default_rng(seed)
    for layer in range(made.layout.layer_count):
        made.layer_path(layer).write_bytes(random.bytes(made.layout.layer_bytes))
    return made


def slot_contents(slots: LayerSlots, slot: int) -> bytes:
    """The bytes that lie in a slot, in blob order."""
    return b"".join(place.tobytes() for place in slots.places(slot))
