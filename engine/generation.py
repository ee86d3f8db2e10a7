"""Token by token: draw, hand out, feed back, until something ends it. Knows ids only, no text."""

from collections.abc import Callable, Collection, Generator

import mlx.core as mx

from engine.events import FinishReason
from engine.model.hybrid import Cancelled, Model
from engine.model.state import State
from engine.sampling import Sampler


def generate(
    model: Model,
    state: State,
    logits: mx.array,
    sampler: Sampler,
    *,
    eos_ids: Collection[int],
    max_tokens: int | None,
    cancelled: Callable[[], bool],
) -> Generator[int, None, FinishReason]:
    """Yield ids drawn from `logits` (V,) and what follows; return why it ended.

    A yielded id is fed to the model only when the next one is asked for, so that the state holds
    all ids but the last. End-of-sequence ids are not yielded.
    """
    room = model.config.context_length - state.length
    limit = room if max_tokens is None else min(room, max_tokens)
    for count in range(1, limit + 1):
        token = int(sampler.sample(logits).item())
        if token in eos_ids:
            return "stop"
        sampler.accept(token)
        yield token
        if count == limit:
            break
        try:
            logits = model.decode(token, state, cancelled)
        except Cancelled:
            return "cancelled"
    return "length" if limit == max_tokens else "context"
