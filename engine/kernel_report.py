"""What computes a model, in the words of the engine process's protocol."""

from typing import Literal

import mlx.core as mx

from engine import protocol as wire
from engine.model.kernels import Kernels
from engine.model.metal.kernels import MetalKernels
from engine.native.kernels import NativeKernels


def kernel_report(kernels: Kernels) -> wire.KernelReport:
    """These kernels as they are in use now; what a proof has switched off, with its reason."""
    on_gpu = mx.default_device().type == mx.DeviceType.gpu
    activations = str(kernels.dtype).rpartition(".")[2]
    device: Literal["gpu", "cpu"] = "gpu" if on_gpu else "cpu"
    if isinstance(kernels, MetalKernels):
        shaders = tuple(wire.ShaderReport(s.group, s.on, s.reason) for s in kernels.states)
        return wire.KernelReport("metal", device, activations, shaders)
    if isinstance(kernels, NativeKernels):
        return wire.KernelReport("native", device, activations)
    return wire.KernelReport("plain", device, activations)
