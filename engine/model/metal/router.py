"""Softmax, top-k and renormalisation of the router in one launch: see `router.metal`."""

import mlx.core as mx

from engine.model.kernels import Routing
from engine.model.metal.shader import SIMD_WIDTH, Kernel, Shader, grid

CHOICE = Shader("router", inputs=("logits",), outputs=("ids", "scores"))

MOST_CHOICES = SIMD_WIDTH  # a lane keeps one


def choose(kernel: Kernel, logits: mx.array, k: int, renormalize: bool) -> Routing:
    """The top k of logits (T, E). k is at most MOST_CHOICES."""
    tokens, experts = logits.shape
    ids, scores = kernel(
        inputs=[logits],
        output_shapes=[(tokens, k), (tokens, k)],
        output_dtypes=[mx.uint32, mx.float32],
        template=[("E", experts), ("K", k), ("RENORMALIZE", renormalize)],
        **grid(tokens, 1, 1),
    )
    return Routing(ids, scores)
