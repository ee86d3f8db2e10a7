"""LayerSlots: the memory in which a layer's experts lie, one MLX array a tensor.

S slots. A slot is filled by writing into `views` (exported once, on the thread that owns MLX);
reader threads touch these memoryviews only. The arrays are never assigned to in Python: MLX would
rebind them and the views would dangle. Scales and biases stay in the source's dtype.
Source: research notes on zero-copy writes; `mx.gather_qmm` takes the arrays as they are.
"""

from dataclasses import dataclass
from typing import Literal

import mlx.core as mx

Projection = Literal["gate_proj", "up_proj", "down_proj"]


@dataclass(frozen=True, slots=True)
class ExpertMatrix:
    """One projection of every slot: weight (S, O, I·b/32) or (S, O, I), scales and biases."""

    weight: mx.array
    scales: mx.array | None
    biases: mx.array | None
    bits: int
    group_size: int


@dataclass(frozen=True, slots=True)
class LayerSlots:
    """The slots of one layer. `views[slot]` are the places, in blob order, that one read fills."""

    gate: ExpertMatrix
    up: ExpertMatrix
    down: ExpertMatrix
    views: tuple[tuple[memoryview, ...], ...]  # [slot][section]

    @property
    def count(self) -> int:
        """S."""
        return len(self.views)
