"""MetalKernels: the decode step by our shaders, everything else by the plain formulas.

A token's step (T = 1) goes through the shaders; a prefill is large products, which MLX does better.
A group of shaders that failed its proof (see `proof`) is off: then the plain formulas compute.
Letters as in `engine.model.kernels`.
"""

from collections.abc import Sequence

import mlx.core as mx

from engine.experts.slots import LayerSlots
from engine.model.kernels import AttentionWeights, DeltaNetWeights, Routing, SharedExpert
from engine.model.metal import attention, delta_net, moe, router, sampler
from engine.model.metal.shader import Build, Shader, ShaderState, metal_kernel
from engine.model.plain import PlainKernels, silu
from engine.model.weights import Linear
from engine.sampling import ResolvedOptions, Sampler

GROUPS: dict[str, tuple[Shader, ...]] = {
    "moe": (moe.HIDDEN, moe.OUTPUT),
    "delta_net": (delta_net.STEP,),
    "attention": (attention.HEADS, attention.GATE),
    "router": (router.CHOICE,),
    "sampler": (sampler.CANDIDATES, sampler.DRAW),
}


class MetalKernels(PlainKernels):
    """Kernels, and TokenExperts of `engine.model.token_experts`. Builds every shader once.

    `build` is `mx.fast.metal_kernel`, or what stands for it; `off` names the groups not to use, and
    `states` says why (empty before the proof).
    """

    def __init__(self, dtype: mx.Dtype, build: Build = metal_kernel) -> None:
        super().__init__(dtype)
        self.off: set[str] = set()
        self.states: list[ShaderState] = []
        self._kernels = {s.name: s.build(build) for group in GROUPS.values() for s in group}

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
        if mixed.shape[0] > 1 or "delta_net" in self.off:
            return super().delta_net(mixed, z, a, b, conv_state, delta_state, w)
        kernel = self._kernels["delta_net"]
        return delta_net.step(kernel, mixed, z, a, b, conv_state, delta_state, w)

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
        if k.shape[0] > 1 or "attention" in self.off:
            return super().attention(q_gate, k, v, keys, values, past, w)
        queries, new_keys = attention.heads(self._kernels["attention_heads"], q_gate, k, past, w)
        end = past + 1
        keys[:, past:end] = new_keys
        values[:, past:end] = v.reshape(w.kv_heads, 1, w.head_dim)
        y = mx.fast.scaled_dot_product_attention(
            queries, keys[None, :, :end], values[None, :, :end], scale=w.head_dim**-0.5
        )
        return attention.gate(self._kernels["attention_gate"], y, q_gate, w)

    def route(self, x: mx.array, gate: Linear, k: int, renormalize: bool) -> Routing:
        if k > router.MOST_CHOICES or "router" in self.off:
            return super().route(x, gate, k, renormalize)
        return router.choose(self._kernels["router"], self.linear(x, gate), k, renormalize)

    def fuses_experts(self, slots: LayerSlots, k: int) -> bool:
        known = moe.supports(slots.gate, slots.up) and moe.supports(slots.down)
        return known and k <= moe.MOST_EXPERTS and "moe" not in self.off

    def expert_hidden(self, x: mx.array, slots: LayerSlots, slot_ids: mx.array) -> mx.array:
        return moe.hidden(self._kernels["moe_hidden"], x, slots.gate, slots.up, slot_ids)

    def expert_output(
        self,
        hidden: mx.array,
        places: mx.array,
        slots: LayerSlots,
        slot_ids: mx.array,
        scores: mx.array,
        shared: tuple[mx.array, mx.array],
        residual: mx.array,
    ) -> mx.array:
        kernel = self._kernels["moe_output"]
        return moe.output(kernel, hidden, places, slots.down, slot_ids, scores, *shared, residual)

    def shared_parts(self, x: mx.array, w: SharedExpert) -> tuple[mx.array, mx.array]:
        if moe.supports(w.gate_proj, w.up_proj):
            hidden = self.shared_hidden(x, w.gate_proj, w.up_proj)
        else:
            hidden = silu(self.linear(x, w.gate_proj)) * self.linear(x, w.up_proj)
        return self.linear(hidden, w.down_proj), self.linear(x, w.gate)

    def shared_hidden(self, x: mx.array, gate: Linear, up: Linear) -> mx.array:
        """silu(gate x) * up x: (1, D) -> (1, I)."""
        return moe.hidden(self._kernels["moe_hidden"], x, gate, up, mx.array([0], mx.uint32))

    def sampler(
        self, options: ResolvedOptions, vocab_size: int, prompt_ids: Sequence[int]
    ) -> Sampler:
        if "sampler" in self.off or not sampler.supports(options, vocab_size):
            return super().sampler(options, vocab_size, prompt_ids)
        kernels = (self._kernels["sampler_candidates"], self._kernels["sampler_draw"])
        return sampler.MetalSampler(options, vocab_size, prompt_ids, kernels)
