"""The proof: sound shaders stay on; a broken one is off, with a reason, and MLX computes."""

import logging
from collections.abc import Callable
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from engine.config import ModelConfig, parse_config
from engine.experts.slots import ExpertMatrix, LayerSlots
from engine.model.metal.kernels import GROUPS, MetalKernels
from engine.model.metal.proof import prove
from engine.model.metal.shader import Build, Kernel, ShaderState
from engine.model.plain import PlainKernels
from engine.model.weights import Linear
from tests.engine.model.metal.numbers import matrix
from tests.engine.tiny import make_config

QUANTIZATION = {"quantization": {"bits": 8, "group_size": 64}}  # the shared expert's
CONFIG: ModelConfig = parse_config(make_config() | QUANTIZATION)


def slots(bits: int = 4, dtype: mx.Dtype = mx.float32) -> LayerSlots:
    rng = np.random.default_rng(0)
    size = CONFIG.hidden_size, CONFIG.expert_intermediate_size
    gate, up, down = (
        matrix(rng, (2, rows, columns), bits, 32, dtype)
        for columns, rows in (size, size, size[::-1])
    )
    return LayerSlots(gate, up, down)


def spoiling(build: Build, name: str, spoil: Callable[[list[mx.array]], list[mx.array]]) -> Build:
    """Builds like `build`, but for one shader, whose outputs go through `spoil`."""

    def spoilt(**definition: Any) -> Kernel:
        kernel = build(**definition)
        if definition["name"] != name:
            return kernel
        return lambda **call: spoil(kernel(**call))

    return spoilt


@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16])
def test_sound_shaders_are_on(build: Build, dtype: mx.Dtype) -> None:
    mx.random.seed(0)
    kernels = MetalKernels(dtype, build)
    prove(kernels, CONFIG, slots(dtype=dtype))
    assert kernels.states == [ShaderState(g, True) for g in GROUPS]
    assert not kernels.off


SPOILT = [
    ("moe", "moe_hidden"),
    ("moe", "moe_output"),
    ("delta_net", "delta_net"),
    ("attention", "attention_heads"),
    ("attention", "attention_gate"),
]


@pytest.mark.parametrize(("group", "name"), SPOILT)
def test_a_shader_that_disagrees_is_off(
    build: Build, group: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Off by a hundredth, in its last output."""
    mx.random.seed(0)
    wrong = spoiling(build, name, lambda outputs: [*outputs[:-1], outputs[-1] * 1.01])
    kernels = MetalKernels(mx.float32, wrong)
    with caplog.at_level(logging.WARNING):
        prove(kernels, CONFIG, slots())
    assert kernels.off == {group}
    (off,) = [state for state in kernels.states if not state.on]
    assert "times its tolerance" in off.reason
    assert off.reason in caplog.text


@pytest.mark.parametrize(("group", "name"), [("router", "router"), ("sampler", "sampler_draw")])
def test_a_wrong_choice_is_off(build: Build, group: str, name: str) -> None:
    mx.random.seed(0)
    wrong = spoiling(build, name, lambda outputs: [outputs[0] ^ 1, *outputs[1:]])
    kernels = MetalKernels(mx.float32, wrong)
    prove(kernels, CONFIG, slots())
    assert kernels.off == {group}


def test_nan_never_agrees(build: Build) -> None:
    wrong = spoiling(build, "delta_net", lambda outputs: [outputs[0] * mx.nan, *outputs[1:]])
    kernels = MetalKernels(mx.float32, wrong)
    prove(kernels, CONFIG, slots())
    assert kernels.off == {"delta_net"}


def test_what_does_not_compile_is_off_and_plain_mlx_computes(build: Build) -> None:
    def failing(_: list[mx.array]) -> list[mx.array]:
        raise RuntimeError("[metal::Device] Unable to build metal library from source")

    kernels = MetalKernels(mx.float32, spoiling(build, "router", failing))
    prove(kernels, CONFIG, slots())
    (off,) = [state for state in kernels.states if not state.on]
    assert off.group == "router"
    assert "Unable to build" in off.reason
    gate, x = Linear(mx.eye(16), None, None, 0, 0), mx.random.normal((1, 16))
    got = kernels.route(x, gate, 4, True)
    assert mx.array_equal(got.ids, PlainKernels(mx.float32).route(x, gate, 4, True).ids)


def test_widths_without_a_shader_are_named(build: Build) -> None:
    kernels = MetalKernels(mx.float32, build)
    prove(kernels, CONFIG, slots(bits=6))
    assert kernels.states[0] == ShaderState(
        "moe", False, "No shader is for 4 experts of 6 bits in groups of 32."
    )
    assert not kernels.fuses_experts(slots(), 33)
    plain = ExpertMatrix(mx.zeros((2, 64, 64)), None, None, 0, 0)
    assert not kernels.fuses_experts(LayerSlots(plain, plain, plain), 4)
