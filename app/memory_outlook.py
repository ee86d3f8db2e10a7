"""What a memory target means for the loaded model: slots, expected hit rate, expected speed.

Slots follow from the plan in force. The rates are a first-order model fitted to what was measured
last: with a share f of a layer's experts in memory, look-ups hit with probability f^a, and the
time spent waiting for the disk grows with the misses. Without a measurement there is no rate.
"""

import math
import os
from dataclasses import dataclass

from app.engine_state import EngineStats, MemoryPlan, ModelFacts


@dataclass(frozen=True, slots=True)
class Outlook:
    """What to expect. None: not known yet."""

    slots_per_layer: int
    expert_count: int
    hit_rate: float | None = None  # 0 to 1
    tokens_per_s: float | None = None
    fits: bool = True  # False: below the least that the model runs with


def outlook(
    budget_bytes: int, plan: MemoryPlan, facts: ModelFacts, stats: EngineStats | None
) -> Outlook:
    """The outlook for `budget_bytes`, from the plan and the figures of the loaded model."""
    slots = int((budget_bytes - _fixed_bytes(plan)) // _slot_bytes(plan))
    if slots < facts.experts_per_token:
        return Outlook(max(slots, 0), facts.expert_count, fits=False)
    slots = min(slots, facts.expert_count)
    hit_rate = _hit_rate(slots, plan, facts, stats)
    return Outlook(slots, facts.expert_count, hit_rate, _tokens_per_s(hit_rate, stats))


def target_range(plan: MemoryPlan, facts: ModelFacts) -> tuple[int, int]:
    """The least that the model runs with, and what holds all of it; in bytes."""
    fixed, slot = _fixed_bytes(plan), _slot_bytes(plan)
    least = fixed + math.ceil(slot * facts.experts_per_token)
    return least, fixed + math.ceil(slot * facts.expert_count)


def machine_bytes() -> int:
    """The machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _fixed_bytes(plan: MemoryPlan) -> int:
    return plan.core_bytes + plan.conversation_bytes + plan.scratch_bytes


def _slot_bytes(plan: MemoryPlan) -> float:
    """One slot in every layer."""
    return max(plan.expert_bytes / max(plan.slots_per_layer, 1), 1)


def _hit_rate(
    slots: int, plan: MemoryPlan, facts: ModelFacts, stats: EngineStats | None
) -> float | None:
    share, share_now = slots / facts.expert_count, plan.slots_per_layer / facts.expert_count
    if share >= 1:
        return 1.0
    if stats is None or not 0 < stats.hit_rate < 1 or not 0 < share_now < 1:
        return None
    exponent = math.log(stats.hit_rate) / math.log(share_now)
    return math.exp(exponent * math.log(share))


def _tokens_per_s(hit_rate: float | None, stats: EngineStats | None) -> float | None:
    if hit_rate is None or stats is None or stats.token_ms <= 0:
        return None
    computing_ms = stats.token_ms - stats.disk_ms
    misses = (1 - hit_rate) / (1 - stats.hit_rate) if stats.hit_rate < 1 else 0.0
    return 1000 / max(computing_ms + stats.disk_ms * misses, 0.1)
