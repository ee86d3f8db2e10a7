"""Which affine quantization a pair of shapes means.

The shapes decide, never a recorded number: containers exist whose manifest names the width of the
checkpoint's default instead of the experts' own.
"""

from engine.config import Quantization

BITS = (2, 3, 4, 5, 6, 8)
GROUP_SIZES = (32, 64, 128)
FLOATS = ("F32", "F16", "BF16")  # of scales, biases and plain weights
PACKED = "U32"


def derive_quantization(
    weight: tuple[int, ...], scales: tuple[int, ...], in_features: int
) -> Quantization | None:
    """The quantization of packed (…, I·b/32) with scales (…, I/g); None where there is none."""
    if not weight or not scales or weight[:-1] != scales[:-1] or not weight[-1] or not scales[-1]:
        return None
    bits, odd_bits = divmod(32 * weight[-1], in_features)
    group_size, odd_group = divmod(in_features, scales[-1])
    if odd_bits or odd_group or bits not in BITS or group_size not in GROUP_SIZES:
        return None
    return Quantization(bits, group_size)


def supported_widths() -> str:
    """The remedy's sentence where a width is not one of these."""
    bits, groups = ", ".join(map(str, BITS)), ", ".join(map(str, GROUP_SIZES))
    return f"Martlet runs affine quantization of {bits} bits in groups of {groups}, or none."
