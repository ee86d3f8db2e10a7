"""What the experts' memory needs to know of a container, and how its files are asked for."""

from pathlib import Path
from typing import Protocol

from engine.config import ModelConfig
from engine.container.files import PAGE_BYTES
from engine.container.layout import ExpertLayout
from engine.experts.reader import ReadRequest
from engine.experts.slots import LayerSlots, allocate_slots


class ExpertFiles(Protocol):
    """The part of a container that holds experts."""

    @property
    def config(self) -> ModelConfig: ...

    @property
    def layout(self) -> ExpertLayout: ...

    @property
    def expert_bits(self) -> int: ...

    @property
    def expert_group_size(self) -> int: ...

    def layer_path(self, layer: int) -> Path: ...


def empty_slots(files: ExpertFiles, count: int) -> LayerSlots:
    """Slots for `count` experts of any layer."""
    return allocate_slots(files.layout, files.expert_bits, files.expert_group_size, count)


def read_request(
    files: ExpertFiles, layer: int, expert: int, slots: LayerSlots, slot: int
) -> ReadRequest:
    """One read that fills `slot` of `slots` with an expert; the padding stays on the disk."""
    offset = expert * files.layout.stride
    direct = slots.direct and offset % PAGE_BYTES == 0
    return ReadRequest(layer, expert, files.layer_path(layer), offset, slots.places(slot), direct)
