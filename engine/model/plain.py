"""PlainKernels: every piece of the forward pass as a formula in MLX operations.

The reference that the native core and the Metal shaders are compared with, and the path that runs
where they do not. Formulas: the Qwen3-Next model card and the Gated DeltaNet paper
(arXiv:2412.06464); quantized products are MLX's own. Letters as in `engine.model.kernels`.
"""

from collections.abc import Sequence

import mlx.core as mx
import numpy as np

from engine.config import ModelConfig
from engine.experts.slots import ExpertMatrix, LayerSlots
from engine.model.kernels import AttentionWeights, DeltaNetWeights, Routing, SharedExpert
from engine.model.weights import Linear
from engine.sampling import ResolvedOptions, Sampler

L2_EPS = 1e-6  # inside the sum of squares of the q/k normalisation
RECURRENCE_TOKENS = 32  # a piece of the delta rule on a CPU


class PlainKernels:
    """See `engine.model.kernels.Kernels`."""

    def __init__(self, dtype: mx.Dtype) -> None:
        self.dtype = dtype

    recycles = False

    def scratch_bytes(self, config: ModelConfig, tokens: int) -> int:
        pairs = config.experts_per_token * (
            2 * config.hidden_size + config.expert_intermediate_size
        )
        values = config.linear_value_head_count * config.linear_value_head_dim
        mixer = 4 * config.conv_dim + 6 * values
        states = min(tokens, RECURRENCE_TOKENS) * values * config.linear_key_head_dim * 4
        size = tokens * self.dtype.size
        return max(size * mixer + states, size * pairs)

    def embed(self, table: Linear, ids: mx.array) -> mx.array:
        rows = table.weight[ids]  # (T, D·b/32) or (T, D)
        if table.scales is None or table.biases is None:
            return rows.astype(self.dtype)
        return mx.dequantize(
            rows,
            table.scales[ids].astype(self.dtype),  # else the rows come in the scales' precision
            table.biases[ids].astype(self.dtype),
            group_size=table.group_size,
            bits=table.bits,
        )

    def linear(self, x: mx.array, w: Linear) -> mx.array:
        if w.scales is None:
            return x @ w.weight.T.astype(x.dtype)
        return mx.quantized_matmul(
            x, w.weight, w.scales, w.biases, group_size=w.group_size, bits=w.bits
        )

    def linears(self, x: mx.array, weights: tuple[Linear, ...]) -> tuple[mx.array, ...]:
        return tuple(self.linear(x, w) for w in weights)

    def rms_norm(self, x: mx.array, weight: mx.array, eps: float) -> mx.array:
        return mx.fast.rms_norm(x, weight, eps)

    def add_rms_norm(
        self, x: mx.array, more: mx.array, weight: mx.array, eps: float
    ) -> tuple[mx.array, mx.array]:
        total = x + more
        return total, self.rms_norm(total, weight, eps)

    def delta_net(
        self,
        mixed: mx.array,
        z: mx.array,
        a: mx.array,
        b: mx.array,
        conv_state: mx.array,
        delta_state: mx.array,
        w: DeltaNetWeights,
        spare: mx.array | None = None,
    ) -> tuple[mx.array, mx.array, mx.array]:
        convolved, conv_state = causal_conv(mixed, conv_state, w.conv)
        q, k, v = split_heads(convolved, w)
        gamma = mx.exp(-mx.exp(w.a_log) * softplus(a + w.dt_bias))  # (T, Hv) float32
        y, state = recurrence(q, k, v, gamma, mx.sigmoid(b), delta_state)
        normed = mx.fast.rms_norm(y, w.norm, w.eps).astype(mx.float32)  # (T, Hv, dv)
        gated = normed * silu(z.astype(mx.float32)).reshape(normed.shape)
        return gated.astype(self.dtype).reshape(z.shape), conv_state, state

    def attention(
        self,
        q_gate: mx.array,
        k: mx.array,
        v: mx.array,
        keys: mx.array,
        values: mx.array,
        past: int,
        w: AttentionWeights,
    ) -> mx.array:
        tokens = k.shape[0]
        q, gate = mx.split(q_gate.reshape(tokens, w.heads, -1), 2, axis=-1)  # (T, H, d) each
        q = rope(mx.fast.rms_norm(q, w.q_norm, w.eps), past, w)  # (H, T, d)
        k = k.reshape(tokens, w.kv_heads, -1)
        k = rope(mx.fast.rms_norm(k, w.k_norm, w.eps), past, w)  # (K, T, d)
        end = past + tokens
        keys[:, past:end] = k
        values[:, past:end] = v.reshape(tokens, w.kv_heads, -1).swapaxes(0, 1)
        y = mx.fast.scaled_dot_product_attention(
            q[None],
            keys[None, :, :end],
            values[None, :, :end],
            scale=w.head_dim**-0.5,
            mask="causal" if tokens > 1 else None,
        )
        y = y[0].swapaxes(0, 1).reshape(tokens, -1)  # (T, H·d)
        return y * mx.sigmoid(gate.reshape(tokens, -1))

    def route(self, x: mx.array, gate: Linear, k: int, renormalize: bool) -> Routing:
        chances = mx.softmax(self.linear(x, gate).astype(mx.float32), axis=-1)  # (T, E)
        # A stable sort, so that equal experts keep the order of their ids.
        ids = mx.argsort(-chances, axis=-1)[:, :k].astype(mx.uint32)
        scores = mx.take_along_axis(chances, ids, axis=-1)
        if renormalize:
            scores = scores / scores.sum(axis=-1, keepdims=True)
        return Routing(ids, scores)

    def expert_mlp(
        self,
        x: mx.array,
        slots: LayerSlots,
        slot_ids: mx.array,
        rows: mx.array,
        ordered: bool,
    ) -> mx.array:
        if slot_ids.ndim > 1:
            slot_ids = slot_ids.reshape(-1)
        gate, up, down, slot_ids = self._places(slots, slot_ids)
        x = x[rows][:, None, :]  # (N, 1, D)
        h = silu(gathered_product(x, gate, slot_ids, ordered))
        h = h * gathered_product(x, up, slot_ids, ordered)  # (N, 1, I)
        return gathered_product(h, down, slot_ids, ordered).squeeze(1)  # (N, D)

    def _places(
        self, slots: LayerSlots, slot_ids: mx.array
    ) -> tuple[ExpertMatrix, ExpertMatrix, ExpertMatrix, mx.array]:
        """The matrices to gather from. Where the scales' dtype is not ours, only the used slots.

        gather_qmm casts every scale it is handed; casting whole slot arrays would cost more than
        the product.
        """
        matrices = slots.gate, slots.up, slots.down
        if all(m.scales is None or m.scales.dtype == self.dtype for m in matrices):
            return *matrices, slot_ids
        used, places = np.unique(np.array(slot_ids), return_inverse=True)
        chosen = mx.array(used)
        gate, up, down = (taken(matrix, chosen, self.dtype) for matrix in matrices)
        return gate, up, down, mx.array(places.astype(np.uint32))

    def shared_mlp(self, x: mx.array, w: SharedExpert) -> mx.array:
        h = silu(self.linear(x, w.gate_proj)) * self.linear(x, w.up_proj)
        return mx.sigmoid(self.linear(x, w.gate)) * self.linear(h, w.down_proj)

    def combine(
        self, pairs: mx.array, scores: mx.array, shared: mx.array, residual: mx.array
    ) -> mx.array:
        tokens, k = scores.shape
        routed = (pairs.reshape(tokens, k, -1) * scores[..., None]).sum(axis=1)
        return residual + (routed.astype(self.dtype) + shared)

    def sampler(
        self, options: ResolvedOptions, vocab_size: int, prompt_ids: Sequence[int]
    ) -> Sampler:
        return Sampler(options, vocab_size, prompt_ids)


def silu(x: mx.array) -> mx.array:
    """x · sigmoid(x)."""
    return x * mx.sigmoid(x)


def softplus(x: mx.array) -> mx.array:
    """log(1 + e^x), in float32."""
    return mx.logaddexp(x.astype(mx.float32), mx.array(0.0))


def recurrence(
    q: mx.array,  # (T, Hk, dk)
    k: mx.array,
    v: mx.array,  # (T, Hv, dv)
    gamma: mx.array,  # (T, Hv)
    beta: mx.array,  # (T, Hv)
    state: mx.array,  # (Hv, dv, dk)
) -> tuple[mx.array, mx.array]:
    """The gated delta rule: (T, Hv, dv), new state.

    On a CPU, MLX keeps the state after every token (2 MB of a published model's) until all is
    evaluated: there it goes in pieces, which is exactly the same sum and no slower.
    """
    piece = RECURRENCE_TOKENS if mx.default_device().type == mx.DeviceType.cpu else len(q)
    outputs, state = [], state[None]
    for start in range(0, len(q), piece):
        part = slice(start, start + piece)
        y, state = mx.fast.gated_delta_update(
            q[None, part], k[None, part], v[None, part], gamma[None, part], beta[None, part], state
        )
        if len(q) > piece:
            mx.eval(y, state)
        outputs.append(y[0])
    return (outputs[0] if len(outputs) == 1 else mx.concatenate(outputs)), state[0]


def causal_conv(mixed: mx.array, conv_state: mx.array, taps: mx.array) -> tuple[mx.array, mx.array]:
    """Depthwise convolution of width W over the tokens, then SiLU: (T, C), new state (W-1, C)."""
    tokens, width = mixed.shape[0], taps.shape[1]
    inputs = mx.concatenate([conv_state, mixed])  # (W-1+T, C)
    summed = inputs[:tokens] * taps[:, 0, 0]
    for tap in range(1, width):
        summed = summed + inputs[tap : tap + tokens] * taps[:, tap, 0]
    # Contiguous, so that the state does not keep the whole chunk's activations alive.
    return silu(summed), mx.contiguous(inputs[tokens:])


def split_heads(convolved: mx.array, w: DeltaNetWeights) -> tuple[mx.array, mx.array, mx.array]:
    """(T, C) -> q (T, Hk, dk) and k of unit length (q over sqrt(dk)), v (T, Hv, dv)."""
    keys = w.key_heads * w.key_dim
    q, k, v = mx.split(convolved, [keys, 2 * keys], axis=-1)
    eps = L2_EPS / w.key_dim  # rms_norm adds it to the mean, not to the sum
    q = mx.fast.rms_norm(q.reshape(-1, w.key_heads, w.key_dim), None, eps)
    k = mx.fast.rms_norm(k.reshape(-1, w.key_heads, w.key_dim), None, eps)
    scale = w.key_dim**-0.5
    return q * scale**2, k * scale, v.reshape(-1, w.value_heads, w.value_dim)


def rope(x: mx.array, past: int, w: AttentionWeights) -> mx.array:
    """(T, heads, d) -> (heads, T, d), the first `rotary_dim` of d rotated, halves paired."""
    return mx.fast.rope(
        x.swapaxes(0, 1),
        w.rotary_dim,
        traditional=False,
        base=w.rope_theta,
        scale=1.0,
        offset=past,
    )


def taken(matrix: ExpertMatrix, slots: mx.array, dtype: mx.Dtype) -> ExpertMatrix:
    """The matrices of some slots only, scales and biases in `dtype`."""
    scales, biases = matrix.scales, matrix.biases
    return ExpertMatrix(
        matrix.weight[slots],
        None if scales is None else scales[slots].astype(dtype),
        None if biases is None else biases[slots].astype(dtype),
        matrix.bits,
        matrix.group_size,
    )


def gathered_product(
    x: mx.array, matrix: ExpertMatrix, slot_ids: mx.array, ordered: bool
) -> mx.array:
    """Each row times its own slot's matrix: (N, 1, I) -> (N, 1, O)."""
    if matrix.scales is None:
        return mx.gather_mm(
            x,
            matrix.weight.swapaxes(-1, -2).astype(x.dtype),
            rhs_indices=slot_ids,
            sorted_indices=ordered,
        )
    return mx.gather_qmm(
        x,
        matrix.weight,
        matrix.scales,
        matrix.biases,
        rhs_indices=slot_ids,
        group_size=matrix.group_size,
        bits=matrix.bits,
        sorted_indices=ordered,
    )
