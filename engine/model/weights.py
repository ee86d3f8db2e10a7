"""Linear: one weight matrix as it lies in the container, quantized or plain."""

from collections.abc import Mapping
from dataclasses import dataclass

import mlx.core as mx
import numpy as np

from engine.config import ModelConfig
from engine.errors import BadContainer


@dataclass(frozen=True, slots=True)
class Linear:
    """`y = x · Wᵀ`. O out features, I in features, g group size, b bits.

    weight: (O, I·b/32) uint32 where quantized, else (O, I). scales, biases: (O, I/g).
    """

    weight: mx.array
    scales: mx.array | None
    biases: mx.array | None
    bits: int
    group_size: int

    @property
    def quantized(self) -> bool:
        """Whether the weight is packed in MLX's affine form."""
        return self.scales is not None

    @property
    def out_features(self) -> int:
        """O."""
        return self.weight.shape[0]

    @property
    def in_features(self) -> int:
        """I."""
        last = self.weight.shape[-1]
        return last * 32 // self.bits if self.quantized else last


def linear(tensors: Mapping[str, mx.array], module: str, config: ModelConfig) -> Linear:
    """Take `module`'s tensors by their bare name. Bits come from the shapes where they decide."""
    weight = tensors.get(f"{module}.weight")
    if weight is None:
        raise BadContainer(f"The tensor {module}.weight is missing.", "Download the model again.")
    scales = tensors.get(f"{module}.scales")
    if scales is None:
        return Linear(weight, None, None, 0, 0)
    biases = tensors.get(f"{module}.biases")
    if biases is None:
        raise BadContainer(f"The tensor {module}.biases is missing.", "Download the model again.")
    quantization = config.module_quantization(module)
    if quantization is None:
        raise BadContainer(
            f"{module} has scales, but config.json names no quantization for it.",
            "Download the model again.",
        )
    if weight.shape[-1] * 32 * 1 != scales.shape[-1] * quantization.group_size * quantization.bits:
        raise BadContainer(
            f"{module}: a weight of shape {tuple(weight.shape)} and scales of "
            f"{tuple(scales.shape)} are not {quantization.bits} bits in groups of "
            f"{quantization.group_size}.",
            "Download the model again.",
        )
    return Linear(weight, scales, biases, quantization.bits, quantization.group_size)


def rows_of(w: Linear, numbers: np.ndarray) -> Linear:
    """The matrix of some rows of another, copied."""
    chosen = mx.array(numbers.astype(np.uint32))
    scales, biases = w.scales, w.biases
    part = Linear(
        w.weight[chosen],
        None if scales is None else scales[chosen],
        None if biases is None else biases[chosen],
        w.bits,
        w.group_size,
    )
    mx.eval([tensor for tensor in (part.weight, part.scales, part.biases) if tensor is not None])
    return part


def vector(tensors: Mapping[str, mx.array], name: str, dtype: mx.Dtype) -> mx.array:
    """A small plain tensor (norm, convolution, gate parameter), evaluated in `dtype`."""
    found = tensors.get(name)
    if found is None:
        raise BadContainer(f"The tensor {name} is missing.", "Download the model again.")
    converted = found.astype(dtype)
    mx.eval(converted)
    return converted
