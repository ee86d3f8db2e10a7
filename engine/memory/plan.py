"""MemoryPlan, the ledger: what a model will take, computed from its container before anything is.

Figures measured with tests/bench/bench_memory.py, which holds the peak against the plan.
What a chunk needs beside the weights, the kernels say: it is theirs.
"""

import os
from dataclasses import dataclass, replace

from engine.container.container import Container
from engine.errors import NotEnoughMemory
from engine.experts.budget import check_slots, slots_for_budget
from engine.experts.slots import slot_bytes
from engine.memory import machine
from engine.memory.machine import GB
from engine.memory.share import pool_bytes
from engine.model.kernels import Kernels
from engine.model.state import state_bytes

INTERPRETER_BYTES = 55_000_000  # Python, MLX and the libraries, before a model
TOKENIZER_FACTOR = 20  # what the tokenizers library takes for a byte of tokenizer.json
ALLOCATOR_BYTES = 256_000_000  # at most; MLX's own default is nearly all it ever had
SNAPSHOT_BYTES = 256_000_000  # of kept prefixes, at most, unless the caller says otherwise
PLANNED_CONTEXT = 4_096  # tokens of the live conversation that the plan has room for
STAGED_EXPERTS = 32  # a group, at most: what is read while another one, or the mixer, computes
LEAST_STAGED = 4
CHUNKS = (2_048, 1_024, 512, 256, 128)  # tokens of a prompt that pass the layers together
CPU_CHUNK = 1_024  # at most: a longer one computes for longer than any disk reads
USUAL_CHUNK = 512  # where no budget is known
CHUNK_SHARE = 8  # a chunk's scratch, and what stays of it, take at most this part of a budget
ALLOCATOR_SHARE = 16
STAGING_SHARE = 64  # of a budget, for both groups
SNAPSHOT_SHARE = 16


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Bytes by what they are for."""

    slots_per_layer: int
    chunk_tokens: int
    staged_experts: int  # a group of a sweep; 0: no staging
    dense_bytes: int
    slots_bytes: int
    state_bytes: int
    snapshots_bytes: int
    staging_bytes: int  # two groups: one is read while the other computes
    scratch_bytes: int
    allocator_bytes: int  # freed memory that MLX keeps for the next time
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
            + self.allocator_bytes
            + self.interpreter_bytes
        )


def plan_memory(
    container: Container,
    *,
    memory_bytes: int | None = None,
    slots: int | None = None,
    kernels: Kernels,
    chunk_tokens: int | None = None,
    context_tokens: int = PLANNED_CONTEXT,
    snapshots_bytes: int | None = None,
    given_back_bytes: int = 0,
) -> MemoryPlan:
    """The plan for a number of slots, a budget, or (neither given) this machine.

    `kernels`: what will compute. Prefill chunks and kept prefixes are as large as a budget
    lets them be, unless they are given. `given_back_bytes`: taken now, free before this is loaded.
    Nothing given is ever exceeded. Raises BadOption or NotEnoughMemory with the smallest that
    works.
    """
    config, layout = container.config, container.layout
    given = _Reserve(kernels, context_tokens, chunk_tokens, snapshots_bytes)
    row_bytes = slot_bytes(layout) * layout.layer_count
    if slots is not None:
        fixed = _fixed(container, given, None)
        count = check_slots(slots, layout, config.experts_per_token)
    else:
        least = least_plan(container, kernels, context_tokens).total_bytes
        budget = memory_bytes
        if budget is None:
            usual = _fixed(container, given, None)
            budget = default_target_bytes(usual, least, given_back_bytes)
        fixed = _fixed(container, given, budget)
        if fixed.fixed_bytes + config.experts_per_token * row_bytes > budget:
            fixed = _fixed(container, given, 0)  # slots come before comfort
        count = slots_for_budget(budget, fixed.fixed_bytes, layout, config.experts_per_token)
    plan = replace(fixed, slots_per_layer=count, slots_bytes=count * row_bytes)
    if count == layout.expert_count:  # every expert has a slot: a sweep has nothing to read
        plan = replace(plan, staged_experts=0, staging_bytes=0)
    return plan


def least_plan(
    container: Container, kernels: Kernels, context_tokens: int = PLANNED_CONTEXT
) -> MemoryPlan:
    """The smallest that runs: a token's experts in every layer, short chunks, no kept prefixes."""
    count = container.config.experts_per_token
    fixed = _fixed(container, _Reserve(kernels, context_tokens, None, None), 0)
    row_bytes = slot_bytes(container.layout) * container.layout.layer_count
    return replace(fixed, slots_per_layer=count, slots_bytes=count * row_bytes)


def check_fits(plan: MemoryPlan, floor_bytes: int, room: int | None = None) -> None:
    """Raises NotEnoughMemory where the plan takes more than `room`; by default, what is free now.

    `floor_bytes`: the least that the model runs with. What this process already uses is its own.
    """
    limit = room
    if limit is None:
        limit = room_bytes(min(machine.used_bytes(), plan.interpreter_bytes))
    if plan.total_bytes <= limit:
        return
    advice = (
        f"Allow at most {_gigabytes(limit)} for it, or close other apps."
        if floor_bytes <= limit
        else "Close other apps, or choose a smaller model."
    )
    raise NotEnoughMemory(
        f"This plan takes {_gigabytes(plan.total_bytes)} of memory; {_gigabytes(limit)} are free.",
        advice,
    )


def room_bytes(given_back: int) -> int:
    """What a plan may take now, where the process gives so much of its own memory back first."""
    free = machine.available_bytes() + given_back
    return min(free, machine.working_set_bytes() or free)


def floor_bytes(plan: MemoryPlan, experts_per_token: int) -> int:
    """The least that the plan's model runs with: a token's experts in every layer."""
    return plan.fixed_bytes + plan.slots_bytes // plan.slots_per_layer * experts_per_token


def scratch_bytes(container: Container, kernels: Kernels, tokens: int) -> int:
    """A layer's chunk of so many tokens, and the logits: once as float32 and as sampling works."""
    return kernels.scratch_bytes(container.config, tokens) + 8 * container.config.vocab_size * 4


def default_target_bytes(fixed: MemoryPlan, least: int, given_back: int = 0) -> int:
    """A budget by machine: the pool grows with the memory, and the machine stays usable.

    More slots are not always faster: past a point the system compresses or swaps them.
    Never below `least` where that much is free: a slow model is better than none.
    """
    total, available = machine.total_bytes(), machine.available_bytes() + given_back
    working_set = machine.working_set_bytes()
    target = min(
        total * 5 // 8,
        available - machine.spare_bytes(total),
        working_set - 2 * GB if working_set else total,
        fixed.fixed_bytes + pool_bytes(total),
    )
    if least > available:
        raise NotEnoughMemory(
            f"This model needs {_gigabytes(least)} of memory; {_gigabytes(available)} are free.",
            "Close other apps, or choose a smaller model.",
        )
    return max(target, least)


@dataclass(frozen=True, slots=True)
class _Reserve:
    """What a caller wants beside experts; None: as the budget allows."""

    kernels: Kernels
    context_tokens: int
    chunk_tokens: int | None
    snapshots_bytes: int | None


def chunk_for(container: Container, kernels: Kernels, budget: int | None) -> int:
    """Tokens of a prefill chunk: every chunk reads the experts anew, so the more the better."""
    if budget is None:
        return USUAL_CHUNK
    on_gpu = kernels.dtype.size < 4
    for tokens in CHUNKS:
        scratch = scratch_bytes(container, kernels, tokens)
        fits = scratch + _allocator_for(scratch, budget) <= budget // CHUNK_SHARE
        if fits and (on_gpu or tokens <= CPU_CHUNK):
            return tokens
    return CHUNKS[-1]


def _allocator_for(scratch: int, budget: int | None) -> int:
    most = min(ALLOCATOR_BYTES, scratch)
    return most if budget is None else min(most, budget // ALLOCATOR_SHARE)


def _snapshots_for(state: int, budget: int | None) -> int:
    most = min(SNAPSHOT_BYTES, 4 * state)
    return most if budget is None else min(most, budget // SNAPSHOT_SHARE)


def _staged_for(expert_bytes: int, budget: int | None) -> int:
    """Experts of a group."""
    if budget is None:
        return STAGED_EXPERTS
    affordable = budget // STAGING_SHARE // (2 * expert_bytes)
    return max(LEAST_STAGED, min(STAGED_EXPERTS, affordable))


def _fixed(container: Container, given: _Reserve, budget: int | None) -> MemoryPlan:
    """The plan without slots."""
    config, layout, kernels = container.config, container.layout, given.kernels
    staged = min(_staged_for(slot_bytes(layout), budget), layout.expert_count)
    state = state_bytes(config, given.context_tokens, kernels.dtype.size)
    chunk = given.chunk_tokens or chunk_for(container, kernels, budget)
    scratch = scratch_bytes(container, kernels, chunk)
    snapshots = given.snapshots_bytes
    return MemoryPlan(
        slots_per_layer=0,
        chunk_tokens=chunk,
        staged_experts=staged,
        dense_bytes=container.resident_bytes,
        slots_bytes=0,
        state_bytes=state,
        snapshots_bytes=_snapshots_for(state, budget) if snapshots is None else snapshots,
        staging_bytes=2 * staged * slot_bytes(layout),
        scratch_bytes=scratch,
        allocator_bytes=_allocator_for(scratch, budget),
        interpreter_bytes=INTERPRETER_BYTES + TOKENIZER_FACTOR * _tokenizer_bytes(container),
    )


def _tokenizer_bytes(container: Container) -> int:
    try:
        return os.stat(container.path / "tokenizer.json").st_size
    except OSError:
        return 0  # a model without one still runs on ids


def _gigabytes(count: int) -> str:
    return f"{count / GB:.1f} GB" if count >= GB else f"{count / 1e6:.0f} MB"
