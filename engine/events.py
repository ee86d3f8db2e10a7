"""What a session tells while it answers: frozen messages, in the order in which they happen.

`PrefillProgress`* then (`ReasoningDelta` | `TextDelta`)* then exactly one `Finished`.
"""

from dataclasses import dataclass
from typing import Literal

FinishReason = Literal["stop", "length", "context", "cancelled"]


@dataclass(frozen=True, slots=True)
class PrefillProgress:
    """`done` of `total` prompt tokens are read; `cached` of them were in the state before.

    Tokens of a chunk that is on its way through the layers count by the share that they have done.
    """

    done: int
    total: int
    cached: int


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More text of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class AnswerStats:
    """Figures of one answer. Rates are 0 where nothing was generated."""

    prompt_tokens: int
    cached_tokens: int
    generated_tokens: int
    ttft_s: float
    tokens_per_s: float
    prefill_tokens_per_s: float
    hit_rate: float  # of expert look-ups while decoding, 0 to 1
    bytes_read: int  # from the container's expert files, the whole answer
    read_s: float  # time spent waiting for the disk
    peak_memory_bytes: int  # of this process


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of an answer. "context": the model's context is full."""

    reason: FinishReason
    text: str  # the whole answer, without reasoning
    tokens: tuple[int, ...]  # generated ids
    stats: AnswerStats


Event = PrefillProgress | ReasoningDelta | TextDelta | Finished
