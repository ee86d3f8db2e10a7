"""Routing as real models show it: some experts are popular, topics drift, neighbours repeat."""

import numpy as np
from numpy.typing import NDArray

from engine.experts.trace import Trace

# Strength of popularity, topic and passage, and how many tokens the last two persist. With these
# 256 experts and 8 a token repeat 35 % of a token's experts at the next one and touch 34, 75 and
# 131 of them in 8, 32 and 128 tokens: published traces of such a model say 38 %, 34, 76 and 131.
POPULARITY, TOPIC, PASSAGE = 0.9, 1.75, 1.75
TOPIC_TOKENS, PASSAGE_TOKENS = 400, 2


def generated_trace(tokens: int, layers: int, experts: int, top_k: int, *, seed: int = 0) -> Trace:
    random = np.random.default_rng(seed)
    shape = (layers, experts)
    popular = random.normal(0, POPULARITY, shape)
    topic = _drift(random, tokens, shape, TOPIC_TOKENS) * TOPIC
    passage = _drift(random, tokens, shape, PASSAGE_TOKENS) * PASSAGE
    scores = popular + topic + passage + random.normal(0, 1, (tokens, *shape))
    return Trace(experts, np.argsort(-scores, axis=-1)[..., :top_k].astype(np.uint16))


def _drift(
    random: np.random.Generator, tokens: int, shape: tuple[int, int], persistence: float
) -> NDArray[np.float64]:
    """(tokens, *shape) of unit variance whose correlation falls by e in `persistence` tokens."""
    keep = np.exp(-1 / persistence)
    steps = random.normal(0, 1, (tokens, *shape))
    for t in range(1, tokens):
        steps[t] = keep * steps[t - 1] + np.sqrt(1 - keep**2) * steps[t]
    return steps
