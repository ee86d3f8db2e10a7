"""One trial a group of shaders: random inputs at a model's shapes, the shaders, and their twin.

The twins compute in float32, and so do the shaders inside: they differ by how sums are ordered and
how exp is rounded, about 1e-5 of the values' size, and by one rounding to the activations' dtype. A
fault differs by the size itself.
"""

import mlx.core as mx

from engine.config import ModelConfig
from engine.experts.slots import ExpertMatrix, LayerSlots
from engine.model.kernels import AttentionWeights, DeltaNetWeights
from engine.model.metal.kernels import MetalKernels
from engine.model.metal.moe import hidden_twin, output_twin, supports
from engine.model.plain import PlainKernels
from engine.model.weights import Linear
from engine.options import GenerationOptions
from engine.sampling import Sampler, resolve

TOLERANCE = 2.0**-11  # of the values' root mean square
ROUNDING = {mx.float32: 0.0, mx.float16: 2.0**-11, mx.bfloat16: 2.0**-8}

PAST = 100  # positions before the tried one


class NotProved(Exception):
    """Why a group of shaders is not to be used."""


def moe(kernels: MetalKernels, config: ModelConfig, slots: LayerSlots) -> None:
    k, first = config.experts_per_token, slots.gate
    if not kernels.fuses_experts(slots, k):
        widths = f"{first.bits} bits in groups of {first.group_size}"
        raise NotProved(f"No shader is for {k} experts of {widths}.")
    gate, up, down = (_like(m, k) for m in (slots.gate, slots.up, slots.down))
    copies = LayerSlots(gate, up, down)
    x, residual, shared = (_normal(kernels, 1, config.hidden_size) for _ in range(3))
    logit, scores = _normal(kernels, 1, 1), mx.softmax(mx.random.normal((1, k)))
    slot_ids, places = (mx.random.permutation(k).astype(mx.uint32) for _ in range(2))
    hidden = kernels.expert_hidden(x, copies, slot_ids)
    compare("moe_hidden", hidden, hidden_twin(_wide(x), _widened(gate), _widened(up), slot_ids))
    out = kernels.expert_output(hidden, places, copies, slot_ids, scores, (shared, logit), residual)
    floats = [_wide(a) for a in (shared, logit, residual)]
    twin = output_twin(_wide(hidden), places, _widened(down), slot_ids, scores, *floats)
    compare("moe_output", out, twin)
    _shared_expert(kernels, config, x)


def _shared_expert(kernels: MetalKernels, config: ModelConfig, x: mx.array) -> None:
    """Its widths may be others than the experts'."""
    widths = config.module_quantization("model.layers.0.mlp.shared_expert.gate_proj")
    if widths is None:
        return
    shape = (1, config.shared_intermediate_size, config.hidden_size)
    made = [_matrix(shape, widths.bits, widths.group_size, kernels.dtype) for _ in range(2)]
    gate, up = (_as_linear(m) for m in made)
    if supports(gate, up):
        hidden = kernels.shared_hidden(x, gate, up)
        first = mx.array([0], mx.uint32)
        twin = hidden_twin(_wide(x), _widened(made[0]), _widened(made[1]), first)
        compare("moe_hidden of the shared expert", hidden, twin)


def delta_net(kernels: MetalKernels, config: ModelConfig) -> None:
    key_heads, value_heads = config.linear_key_head_count, config.linear_value_head_count
    key_dim, value_dim = config.linear_key_head_dim, config.linear_value_head_dim
    channels, values = 2 * key_heads * key_dim + value_heads * value_dim, value_heads * value_dim
    w = DeltaNetWeights(
        conv=_normal(kernels, channels, config.conv_kernel, 1),
        a_log=mx.random.normal((value_heads,)),
        dt_bias=_normal(kernels, value_heads),
        norm=_normal(kernels, value_dim),
        key_heads=key_heads,
        value_heads=value_heads,
        key_dim=key_dim,
        value_dim=value_dim,
        eps=config.rms_norm_eps,
    )
    mixed, z, a, b = (_normal(kernels, 1, n) for n in (channels, values, value_heads, value_heads))
    conv_state = _normal(kernels, config.conv_kernel - 1, channels)
    state = mx.random.normal((value_heads, value_dim, key_dim))
    got = kernels.delta_net(mixed, z, a, b, conv_state, state, w)
    twin = PlainKernels(mx.float32).delta_net(
        _wide(mixed), _wide(z), _wide(a), _wide(b), _wide(conv_state), state, w
    )
    for name, one, other in zip(("output", "conv state", "state"), got, twin, strict=True):
        compare(f"delta_net, {name}", one, other)


def attention(kernels: MetalKernels, config: ModelConfig) -> None:
    d, heads, kv_heads = config.head_dim, config.head_count, config.kv_head_count
    w = AttentionWeights(
        q_norm=_normal(kernels, d),
        k_norm=_normal(kernels, d),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=d,
        rotary_dim=config.rotary_dim,
        rope_theta=config.rope_theta,
        eps=config.rms_norm_eps,
    )
    q_gate, k, v = (_normal(kernels, 1, n * d) for n in (2 * heads, kv_heads, kv_heads))
    keys, values = (_normal(kernels, kv_heads, PAST + 1, d) for _ in range(2))
    wide_keys = _wide(keys)
    twin = PlainKernels(mx.float32).attention(
        _wide(q_gate), _wide(k), _wide(v), wide_keys, _wide(values), PAST, w
    )
    out = kernels.attention(q_gate, k, v, keys, values, PAST, w)
    compare("attention_heads", keys, wide_keys)
    # MLX's own attention stands between the two shaders and rounds its queries and weights.
    compare("attention_gate", out, twin, slack=4 * ROUNDING[out.dtype])


def router(kernels: MetalKernels, config: ModelConfig) -> None:
    logits = _normal(kernels, 1, config.expert_count) * 3
    identity = Linear(mx.eye(config.expert_count, dtype=kernels.dtype), None, None, 0, 0)
    arguments = (identity, config.experts_per_token, config.norm_topk_prob)
    got, twin = kernels.route(logits, *arguments), PlainKernels.route(kernels, logits, *arguments)
    if not mx.array_equal(got.ids, twin.ids):
        raise NotProved(f"router: chose {got.ids.tolist()}, its twin {twin.ids.tolist()}.")
    compare("router", got.scores, twin.scores)


def sampler(kernels: MetalKernels, config: ModelConfig) -> None:
    logits = mx.random.normal((config.vocab_size,)) * 4
    for temperature in (0.0, 1.0):
        asked = GenerationOptions(
            temperature=temperature, top_k=20, top_p=0.95, repetition_penalty=1.1, seed=1
        )
        options, prompt = resolve(asked, {}), range(min(64, config.vocab_size))
        samplers = [
            kernels.sampler(options, config.vocab_size, prompt),
            Sampler(options, config.vocab_size, prompt),
        ]
        drawn = [[s.sample(logits).tolist() for _ in range(4)] for s in samplers]
        if drawn[0] != drawn[1]:
            raise NotProved(f"sampler: drew {drawn[0]}, its twin {drawn[1]}.")


def compare(name: str, got: mx.array, twin: mx.array, slack: float = 0.0) -> None:
    """Raise NotProved beyond the tolerance (and `slack`, of the size). NaN never agrees."""
    wanted = _wide(twin)
    size = mx.sqrt(mx.mean(wanted * wanted))
    allowed = (TOLERANCE + slack) * size + ROUNDING[got.dtype] * mx.abs(wanted)
    off = mx.abs(_wide(got) - wanted) / allowed
    if not mx.all(off <= 1).item():
        raise NotProved(f"{name} is off by {mx.max(off).item():.3g} times its tolerance.")


def _wide(a: mx.array) -> mx.array:
    return a.astype(mx.float32)


def _normal(kernels: MetalKernels, *shape: int) -> mx.array:
    return mx.random.normal(shape).astype(kernels.dtype)


def _like(matrix: ExpertMatrix, slots: int) -> ExpertMatrix:
    """Random weights of the same shape, widths and dtypes, in as many slots."""
    assert matrix.scales is not None
    _, rows, words = matrix.weight.shape
    shape = (slots, rows, words * 32 // matrix.bits)
    return _matrix(shape, matrix.bits, matrix.group_size, matrix.scales.dtype)


def _matrix(
    shape: tuple[int, int, int], bits: int, group_size: int, dtype: mx.Dtype
) -> ExpertMatrix:
    """Random weights of about 1 / sqrt(inputs): shape is slots, rows, inputs."""
    slots, rows, inputs = shape
    weight = mx.random.randint(0, 2**31 - 1, (slots, rows, inputs * bits // 32), mx.uint32)
    step = mx.random.uniform(1.0, 3.0, (slots, rows, inputs // group_size)) * inputs**-0.5
    scales = step / 2.0**bits
    return ExpertMatrix(weight, scales.astype(dtype), (-step / 2).astype(dtype), bits, group_size)


def _as_linear(m: ExpertMatrix) -> Linear:
    """The matrix of the only slot."""
    assert m.scales is not None
    assert m.biases is not None
    return Linear(m.weight[0], m.scales[0], m.biases[0], m.bits, m.group_size)


def _widened(matrix: ExpertMatrix) -> ExpertMatrix:
    """With float32 scales and biases."""
    assert matrix.scales is not None
    assert matrix.biases is not None
    scales, biases = _wide(matrix.scales), _wide(matrix.biases)
    return ExpertMatrix(matrix.weight, scales, biases, matrix.bits, matrix.group_size)
