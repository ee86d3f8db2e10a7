"""Record shader launches for a machine with an NVIDIA GPU: see `shaders_on_gpu`.

python -m tests.bench.record_shaders FOLDER
"""

import contextlib
import sys
from dataclasses import replace
from pathlib import Path

import mlx.core as mx
import numpy as np

from engine.config import ModelConfig, parse_config
from engine.experts.slots import ExpertMatrix, LayerSlots
from engine.model.kernels import AttentionWeights, DeltaNetWeights
from engine.model.metal import attention, delta_net, moe, router, sampler
from engine.model.metal.kernels import MetalKernels
from engine.model.metal.proof import prove
from tests.engine.tiny import make_config
from tests.shaders.cuda import Recorder
from tests.shaders.host import HostTarget

TINY = parse_config(make_config())
RAGGED = replace(
    TINY,
    hidden_size=160,
    expert_intermediate_size=96,
    head_count=3,
    kv_head_count=1,
    head_dim=40,
    rotary_dim=12,
    linear_key_head_count=1,
    linear_value_head_count=3,
    linear_key_head_dim=48,
    linear_value_head_dim=20,
    expert_count=33,
    experts_per_token=10,
    vocab_size=5_000,
)
CHECKED = [
    (TINY, mx.float32, 4),
    (TINY, mx.bfloat16, 8),
    (RAGGED, mx.float16, 4),
    (RAGGED, mx.bfloat16, 8),
]

HEADS = replace(
    TINY,
    hidden_size=2048,
    expert_intermediate_size=512,
    head_count=16,
    kv_head_count=2,
    head_dim=256,
    rotary_dim=64,
    linear_key_head_count=16,
    linear_value_head_count=32,
    linear_key_head_dim=128,
    linear_value_head_dim=128,
)
MODELS = {
    "35B": replace(HEADS, expert_count=256, experts_per_token=8, vocab_size=248_320),
    "80B": replace(HEADS, expert_count=512, experts_per_token=10, vocab_size=151_936),
}
GROUP_SIZE = 64

LANE = "uint i = thread_position_in_grid.x; "
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup); "
PLANTED = {
    "memcheck": "y[i] = x[i + 1000000];",
    "racecheck": "threadgroup float b[64]; b[i] = x[i]; y[i] = b[63 - i];",
    "initcheck": "y[i] = x[i] + (i == 0 ? y[63] : 0);",
    "synccheck": "if (i < 40) { " + BARRIER + "} y[i] = x[i];",
}


def main(folder: Path) -> None:
    """Write units and launches into `folder`."""
    mx.set_default_device(mx.cpu)
    folder.mkdir(parents=True, exist_ok=True)
    programs = folder / "host"
    programs.mkdir(exist_ok=True)
    with contextlib.closing(HostTarget(programs, schedules=1)) as host:
        recorder = Recorder(folder, host)
        record_checked(recorder)
        record_planted(recorder)
        record_timed(recorder)
    recorder.save()
    print(f"{len(recorder.launches)} launches")


def record_checked(recorder: Recorder) -> None:
    """The shaders' own proof, over dtypes, widths and ragged shapes."""
    for config, dtype, bits in CHECKED:
        mx.random.seed(bits)
        recorder.label = f"{'tiny' if config is TINY else 'ragged'}, {bits} bits"
        kernels = MetalKernels(dtype, recorder)
        prove(kernels, config, slots(config, bits, 32, dtype))
        assert not kernels.off, kernels.states


def record_planted(recorder: Recorder) -> None:
    """A fault for each tool."""
    recorder.kind = "planted"
    for recorder.label, body in PLANTED.items():
        kernel = recorder(name="planted", input_names=["x"], output_names=["y"], source=LANE + body)
        kernel(
            inputs=[mx.arange(64).astype(mx.float32)],
            output_shapes=[(64,)],
            output_dtypes=[mx.float32],
            grid=(64, 1, 1),
            threadgroup=(64, 1, 1),
        )


def record_timed(recorder: Recorder) -> None:
    """Every shader at the models' shapes, in bfloat16."""
    recorder.kind = "timed"
    for name, config in MODELS.items():
        for bits in (4, 8):
            recorder.label = f"{name}, {bits} bits"
            time_moe(recorder, config, bits)
        recorder.label = name
        time_choices(recorder, config)
    eight = replace(MODELS["35B"], experts_per_token=64)
    for bits in (4, 8):
        recorder.label = f"64 experts, {bits} bits"
        time_hidden(recorder, eight, slots(eight, bits, GROUP_SIZE, mx.bfloat16))
    time_mixers(recorder)


def time_moe(recorder: Recorder, config: ModelConfig, bits: int) -> None:
    """Each of k experts in a slot of its own: every byte of the slots is read once."""
    k, d = config.experts_per_token, config.hidden_size
    matrices = slots(config, bits, GROUP_SIZE, mx.bfloat16)
    hidden = time_hidden(recorder, config, matrices)
    row, ids = mx.zeros((1, d), mx.bfloat16), mx.arange(k).astype(mx.uint32)
    gate, scores = mx.zeros((1, 1), mx.bfloat16), mx.ones((1, k))
    kernel = moe.OUTPUT.build(recorder)
    moe.output(kernel, hidden, ids, matrices.down, ids, scores, row, gate, row)


def time_hidden(recorder: Recorder, config: ModelConfig, matrices: LayerSlots) -> mx.array:
    """The first half alone."""
    x = mx.zeros((1, config.hidden_size), mx.bfloat16)
    ids = mx.arange(config.experts_per_token).astype(mx.uint32)
    return moe.hidden(moe.HIDDEN.build(recorder), x, matrices.gate, matrices.up, ids)


def time_choices(recorder: Recorder, config: ModelConfig) -> None:
    """Router and sampler."""
    logits = mx.zeros((1, config.expert_count), mx.bfloat16)
    router.choose(router.CHOICE.build(recorder), logits, config.experts_per_token, True)
    rng = np.random.default_rng(0)
    scores = mx.array(rng.standard_normal(config.vocab_size).astype(np.float32))
    kernels = [shader.build(recorder) for shader in (sampler.CANDIDATES, sampler.DRAW)]
    keys = sampler.candidates(kernels[0], scores, None, None, 20)
    settings, key = mx.array([0.7, 0.8, -np.inf]), mx.array([1, 2], mx.uint32)
    keys = mx.array(rng.integers(2**63, 2**63 + 2**60, keys.shape, np.uint64))
    sampler.draw(kernels[1], keys, settings, key, config.vocab_size, True)


def time_mixers(recorder: Recorder) -> None:
    """DeltaNet's step and what stands around attention; the same in both models."""
    zeros = lambda *shape: mx.zeros(shape, mx.bfloat16)  # noqa: E731
    key_heads, value_heads, dim = 16, 32, 128
    channels = 2 * key_heads * dim + value_heads * dim
    heads = (key_heads, value_heads, dim, dim)
    w = DeltaNetWeights(
        zeros(channels, 4, 1), mx.zeros((32,)), zeros(32), zeros(dim), *heads, eps=1e-6
    )
    used = delta_net.SIMDGROUPS
    for delta_net.SIMDGROUPS in (8, 16, 32):
        recorder.label = f"16/32 of 128, {delta_net.SIMDGROUPS} simdgroups"
        delta_net.step(
            delta_net.STEP.build(recorder),
            *(zeros(1, channels), zeros(1, value_heads * dim), zeros(1, 32), zeros(1, 32)),
            *(zeros(3, channels), mx.zeros((value_heads, dim, dim)), w),
        )
    delta_net.SIMDGROUPS = used
    recorder.label = "16/2 heads of 256"
    a = AttentionWeights(zeros(256), zeros(256), 16, 2, 256, 64, 1e7, 1e-6)
    kernels = [shader.build(recorder) for shader in (attention.HEADS, attention.GATE)]
    q_gate = zeros(1, 16 * 512)
    attention.heads(kernels[0], q_gate, zeros(1, 512), 1000, a)
    attention.gate(kernels[1], zeros(1, 16, 1, 256), q_gate, a)


def slots(config: ModelConfig, bits: int, group_size: int, dtype: mx.Dtype) -> LayerSlots:
    """Empty slots for the experts of one token."""
    k, d, inner = config.experts_per_token, config.hidden_size, config.expert_intermediate_size

    def matrix(rows: int, columns: int) -> ExpertMatrix:
        scales = mx.zeros((k, rows, columns // group_size), dtype)
        words = mx.zeros((k, rows, columns * bits // 32), mx.uint32)
        return ExpertMatrix(words, scales, scales, bits, group_size)

    return LayerSlots(matrix(inner, d), matrix(inner, d), matrix(d, inner))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
