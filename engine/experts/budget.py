"""How many slots a layer gets: from bytes, or as asked; never fewer than a token needs."""

from engine.container.layout import ExpertLayout
from engine.errors import BadOption, NotEnoughMemory
from engine.experts.slots import slot_bytes


def slots_for_budget(
    budget_bytes: int, fixed_bytes: int, layout: ExpertLayout, experts_per_token: int
) -> int:
    """The most slots a layer for which everything stays within `budget_bytes`.

    `fixed_bytes` is what the model needs beside its slots. Raises NotEnoughMemory, naming the
    smallest budget that does.
    """
    row_bytes = slot_bytes(layout) * layout.layer_count  # one slot in every layer
    count = (budget_bytes - fixed_bytes) // row_bytes
    if count < experts_per_token:
        least = fixed_bytes + experts_per_token * row_bytes
        raise NotEnoughMemory(
            f"A memory budget of {_megabytes(budget_bytes)} is too small: this model needs "
            f"{_megabytes(fixed_bytes)} and {experts_per_token} experts in each of "
            f"{layout.layer_count} layers.",
            f"Allow at least {_megabytes(least)}.",
        )
    return min(count, layout.expert_count)


def check_slots(count: int, layout: ExpertLayout, experts_per_token: int) -> int:
    """`count` as asked for, at most one a expert. Raises BadOption below the floor."""
    if count < experts_per_token:
        raise BadOption(
            f"{count} expert slots a layer are too few.",
            f"A token needs {experts_per_token}: use at least {experts_per_token}, "
            f"at most {layout.expert_count}.",
        )
    return min(count, layout.expert_count)


def _megabytes(count: int) -> str:
    return f"{-(-count // 1_000_000):,} MB"
