"""The report names what computes, and why a shader does not."""

import mlx.core as mx
import pytest

from engine import protocol as wire
from engine.kernel_report import kernel_report
from engine.loading import default_kernels
from engine.model.metal.kernels import MetalKernels
from engine.model.metal.shader import ShaderState
from engine.model.plain import PlainKernels
from engine.native.core import native_core
from engine.native.kernels import NativeKernels


def test_a_cpu_is_reported_as_what_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MARTLET_PLAIN", raising=False)
    kind = "native" if native_core() else "plain"
    assert kernel_report(default_kernels()) == wire.KernelReport(kind, "cpu", "float32")


def test_the_native_core() -> None:
    native = native_core()
    if native is None:
        pytest.skip("the native core cannot be built here")
    assert kernel_report(NativeKernels(native)).kind == "native"


def test_plain_is_plain_wherever_it_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert kernel_report(default_kernels(plain=True)).kind == "plain"
    monkeypatch.setenv("MARTLET_PLAIN", "1")
    assert kernel_report(default_kernels()).kind == "plain"
    assert kernel_report(PlainKernels(mx.bfloat16)).activations == "bfloat16"


def test_shaders_with_what_their_proof_said() -> None:
    kernels = MetalKernels(mx.bfloat16, build=lambda **_: lambda **_: [])
    kernels.states = [ShaderState("moe", True), ShaderState("router", False, "It differs.")]
    report = kernel_report(kernels)
    assert report.kind == "metal"
    assert report.shaders == (
        wire.ShaderReport("moe", True),
        wire.ShaderReport("router", False, "It differs."),
    )
