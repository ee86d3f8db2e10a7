"""MetalSampler: `engine.sampling` in two launches, `sampler_candidates` and `sampler_draw`.

V vocabulary, K candidates. Greedy choice and a top-k of at most MOST_CANDIDATES go through the
shaders, with the same key, the same random numbers and the same order of stages: a seed draws what
it draws without them. What has no top-k is left to MLX.
"""

import math
from collections.abc import Sequence

import mlx.core as mx

from engine.model.metal.shader import SIMD_WIDTH, Kernel, Shader, grid
from engine.sampling import GREEDY_BELOW, ResolvedOptions, Sampler

CANDIDATES = Shader(
    "sampler_candidates",
    inputs=("logits", "bias", "prompted", "counts", "penalties"),
    outputs=("keys",),
    headers=("best",),
)
DRAW = Shader(
    "sampler_draw",
    inputs=("candidates", "settings", "key"),
    outputs=("token", "next_key"),
    headers=("best", "threefry"),
)

MOST_CANDIDATES = 64
HELD = 8  # logits a lane
SIMDGROUPS = 8


class MetalSampler(Sampler):
    """A Sampler whose every draw is two launches. See `supports`."""

    def __init__(
        self,
        options: ResolvedOptions,
        vocab_size: int,
        prompt_ids: Sequence[int],
        kernels: tuple[Kernel, Kernel],
    ) -> None:
        super().__init__(options, vocab_size, prompt_ids)
        self._candidates, self._drawer = kernels
        self._draws = options.temperature >= GREEDY_BELOW
        penalties = (
            options.repetition_penalty,
            options.frequency_penalty,
            options.presence_penalty,
        )
        self._penalties = mx.array(penalties, mx.float32)
        least = math.log(options.min_p) if options.min_p > 0 else -math.inf
        self._settings = mx.array([options.temperature, options.top_p, least], mx.float32)

    def sample(self, logits: mx.array) -> mx.array:
        k = self._options.top_k if self._draws else 1
        keys = candidates(
            self._candidates,
            logits,
            self._bias,
            (self._prompted, self._counts, self._penalties) if self._penalizes else None,
            k,
        )
        vocab = logits.shape[0]
        token, key = draw(self._drawer, keys, self._settings, self._key, vocab, self._draws)
        if self._draws:
            self._key = key
        return token


def supports(options: ResolvedOptions, vocab_size: int) -> bool:
    """Whether the shaders can draw so: greedily, or by a top-k that they can hold."""
    greedy = options.temperature < GREEDY_BELOW
    return greedy or 0 < options.top_k <= min(MOST_CANDIDATES, vocab_size - 1)


def candidates(
    kernel: Kernel,
    logits: mx.array,  # (V,)
    bias: mx.array | None,  # (V,) float32
    penalties: tuple[mx.array, mx.array, mx.array] | None,  # prompted, counts, (3,) factors
    k: int,
) -> mx.array:
    """The k best of every block: (B, k) uint64 keys."""
    vocab = logits.shape[0]
    unused = mx.array([0.0])
    prompted, counts, factors = penalties or (unused, unused, unused)
    blocks = -(-vocab // (SIMD_WIDTH * SIMDGROUPS * HELD))
    (keys,) = kernel(
        inputs=[logits, unused if bias is None else bias, prompted, counts, factors],
        output_shapes=[(blocks, k)],
        output_dtypes=[mx.uint64],
        template=[
            *(("V", vocab), ("K", k), ("HELD", HELD), ("SIMDGROUPS", SIMDGROUPS)),
            *(("BIASED", bias is not None), ("PENALIZED", penalties is not None)),
        ],
        **grid(blocks, 1, SIMDGROUPS),
    )
    return keys


def draw(
    kernel: Kernel,
    keys: mx.array,  # (B, k)
    settings: mx.array,  # (3,): temperature, top-p, log of min-p
    key: mx.array,  # (2,) uint32
    vocab: int,
    draws: bool,
) -> tuple[mx.array, mx.array]:
    """The token, a lazy scalar (`vocab` where the best score is not finite), and the next key."""
    blocks, k = keys.shape
    token, next_key = kernel(
        inputs=[keys, settings, key],
        output_shapes=[(), (2,)],
        output_dtypes=[mx.uint32, mx.uint32],
        template=[
            *(("V", vocab), ("B", blocks), ("K", k)),
            *(("SIMDGROUPS", SIMDGROUPS), ("DRAW", draws)),
        ],
        **grid(1, 1, SIMDGROUPS),
    )
    return token, next_key
