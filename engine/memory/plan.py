"""MemoryPlan: what a model will take, computed from its container before anything is allocated.

T tokens of a prefill chunk, k experts a token, D hidden, C conv channels, V vocabulary.
"""

from dataclasses import dataclass, replace

from engine.config import ModelConfig
from engine.container.container import Container
from engine.errors import NotEnoughMemory
from engine.experts.budget import check_slots, slots_for_budget
from engine.experts.slots import slot_bytes
from engine.memory import machine
from engine.memory.share import pool_bytes
from engine.model.state import state_bytes

INTERPRETER_BYTES = 130_000_000  # Python, MLX and the libraries, before a model
TOKENIZER_BYTES_PER_ID = 1_000  # what the tokenizers library keeps for a vocabulary, roughly
SNAPSHOT_BYTES = 256_000_000  # of kept prefixes, unless the caller says otherwise
PLANNED_CONTEXT = 4_096  # tokens of the live conversation that the plan has room for
STAGED_EXPERTS = 16  # a group: large enough to keep the readers busy while it computes
GB = 1_000_000_000


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Bytes by what they are for."""

    slots_per_layer: int
    staged_experts: int  # a group of a sweep; 0: no staging
    dense_bytes: int
    slots_bytes: int
    state_bytes: int
    snapshots_bytes: int
    staging_bytes: int  # two groups: one is read while the other computes
    scratch_bytes: int
    interpreter_bytes: int

    @property
    def total_bytes(self) -> int:
        """Everything at once."""
        return self.slots_bytes + self.fixed_bytes

    @property
    def fixed_bytes(self) -> int:
        """What does not depend on the number of slots."""
        return (
            self.dense_bytes
            + self.state_bytes
            + self.snapshots_bytes
            + self.staging_bytes
            + self.scratch_bytes
            + self.interpreter_bytes
        )


def plan_memory(
    container: Container,
    *,
    memory_bytes: int | None = None,
    slots: int | None = None,
    itemsize: int,
    chunk_tokens: int,
) -> MemoryPlan:
    """The plan for a number of slots, a budget, or (neither given) this machine.

    `itemsize`: bytes an activation. Raises BadOption or NotEnoughMemory with the smallest that
    works.
    """
    config, layout = container.config, container.layout
    staged = min(STAGED_EXPERTS, layout.expert_count)
    fixed = MemoryPlan(
        slots_per_layer=0,
        staged_experts=staged,
        dense_bytes=container.dense_bytes,
        slots_bytes=0,
        state_bytes=state_bytes(config, PLANNED_CONTEXT, itemsize),
        snapshots_bytes=min(SNAPSHOT_BYTES, 4 * state_bytes(config, PLANNED_CONTEXT, itemsize)),
        staging_bytes=2 * staged * slot_bytes(layout),
        scratch_bytes=scratch_bytes(config, chunk_tokens, itemsize),
        interpreter_bytes=INTERPRETER_BYTES + TOKENIZER_BYTES_PER_ID * config.vocab_size,
    )
    if slots is not None:
        count = check_slots(slots, layout, config.experts_per_token)
    else:
        budget = memory_bytes if memory_bytes is not None else default_target_bytes(fixed)
        count = slots_for_budget(budget, fixed.fixed_bytes, layout, config.experts_per_token)
    pool = count * slot_bytes(layout) * layout.layer_count
    plan = replace(fixed, slots_per_layer=count, slots_bytes=pool)
    if count == layout.expert_count:  # every expert has a slot: a sweep has nothing to read
        plan = replace(plan, staged_experts=0, staging_bytes=0)
    return plan


def scratch_bytes(config: ModelConfig, tokens: int, itemsize: int) -> int:
    """Activations of one layer's chunk, and the logits."""
    pairs = config.experts_per_token * (2 * config.hidden_size + config.expert_intermediate_size)
    values = config.linear_value_head_count * config.linear_value_head_dim
    mixer = 4 * config.conv_dim + 6 * values
    return tokens * (pairs + mixer) * itemsize + 8 * config.vocab_size * 4


def default_target_bytes(fixed: MemoryPlan) -> int:
    """A budget by machine: the pool grows with the memory, and the machine stays usable.

    More slots are not always faster: past a point the system compresses or swaps them.
    """
    total, available = machine.total_bytes(), machine.available_bytes()
    spare = max(1_500_000_000, total // 20)
    target = min(total * 5 // 8, available - spare, fixed.fixed_bytes + pool_bytes(total))
    if target < fixed.fixed_bytes:
        raise NotEnoughMemory(
            f"This model needs {fixed.fixed_bytes / GB:.1f} GB before any expert; "
            f"{available / GB:.1f} GB are free.",
            "Close other apps, or choose a smaller model.",
        )
    return target
