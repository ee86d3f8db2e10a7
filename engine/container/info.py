"""info: what a container is, in figures: what it holds, and what it takes in memory."""

from dataclasses import asdict, dataclass
from typing import Any

from engine.config import Quantization
from engine.container.container import Container
from engine.container.files import file_size
from engine.memory.plan import plan_memory
from engine.model.kernels import Kernels


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """Memory with `slots` experts of each layer resident."""

    slots: int
    slot_bytes: int  # of all layers' slots
    total_bytes: int  # with dense weights, state, scratch and the program itself


@dataclass(frozen=True, slots=True)
class ContainerInfo:
    """Figures of a model. Bytes are on disk unless they say memory."""

    path: str
    family: str
    source: str
    layer_count: int
    linear_layer_count: int  # Gated DeltaNet; the others have full attention
    expert_count: int  # of each layer
    experts_per_token: int
    expert_bits: int  # 0: not quantized
    expert_group_size: int
    dense_bits: int  # of modules without an override; 0: not quantized
    vocab_size: int
    context_length: int
    expert_bytes: int  # one expert, as it is read
    experts_bytes: int  # all expert files
    dense_bytes: int  # the tensors beside the experts
    dense_file_bytes: int
    total_bytes: int  # all files
    memory: tuple[MemoryRow, ...]
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """A tree of what JSON knows, with the field names as keys."""
        return asdict(self)


def describe(container: Container, *, kernels: Kernels) -> ContainerInfo:
    """Figures of an opened container; `kernels`: what this machine would compute with."""
    config, layout = container.config, container.layout
    quantization = config.quantization or Quantization(0, 0)
    return ContainerInfo(
        path=str(container.path),
        family=config.family,
        source=container.manifest.source,
        layer_count=config.layer_count,
        linear_layer_count=sum(config.linear_layers),
        expert_count=config.expert_count,
        experts_per_token=config.experts_per_token,
        expert_bits=container.expert_bits,
        expert_group_size=container.expert_group_size,
        dense_bits=quantization.bits,
        vocab_size=config.vocab_size,
        context_length=config.context_length,
        expert_bytes=layout.stride,
        experts_bytes=layout.layer_bytes * layout.layer_count,
        dense_bytes=container.dense_bytes,
        dense_file_bytes=file_size(container.dense_path),
        total_bytes=container.total_bytes,
        memory=tuple(_memory(container, slots, kernels) for slots in slot_counts(container)),
        warnings=container.warnings,
    )


def slot_counts(container: Container) -> list[int]:
    """Numbers of slots worth comparing: a token's experts, doubled until all are resident."""
    counts, count = [], container.config.experts_per_token
    while count < container.config.expert_count:
        counts.append(count)
        count *= 2
    return [*counts, container.config.expert_count]


def _memory(container: Container, slots: int, kernels: Kernels) -> MemoryRow:
    plan = plan_memory(container, slots=slots, kernels=kernels)
    return MemoryRow(slots, plan.slots_bytes, plan.total_bytes)
