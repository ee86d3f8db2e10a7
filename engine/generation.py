"""Token by token: draw, hand out, feed back, until something ends it. Knows ids only, no text."""

from collections.abc import Callable, Collection, Generator

import mlx.core as mx

from engine.errors import Cancelled
from engine.events import FinishReason
from engine.sampling import Sampler

Feed = Callable[[int], mx.array]  # takes in a token, gives the next logits (V,); may be Cancelled


def generate(
    logits: mx.array,
    sampler: Sampler,
    feed: Feed,
    *,
    eos_ids: Collection[int],
    max_tokens: int | None,
    room: int,
) -> Generator[int, None, FinishReason]:
    """Yield ids drawn from `logits` (V,) and from what follows; return why it ended.

    An id is fed only when the next one is asked for, so that the state holds all but the last.
    `room` is what the context still takes. End-of-sequence ids are not yielded.
    """
    limit = room if max_tokens is None else min(room, max_tokens)
    for count in range(1, limit + 1):
        token = int(sampler.sample(logits))
        if token in eos_ids:
            return "stop"
        sampler.accept(token)
        yield token
        if count == limit:
            break
        try:
            logits = feed(token)
        except Cancelled:
            return "cancelled"
    return "length" if limit == max_tokens else "context"
