"""The native core: products alone, and all products of a token of an 8-layer cut of the 80B.

    python -m tests.bench native

Rates are medians. A token's products read every weight once, cold, like a real token: their rate
is given beside that of a plain copy of memory in the same run, which reads as much as it writes.
"""

import statistics
import time
from collections.abc import Callable

import mlx.core as mx
import numpy as np

from engine.experts.slots import ExpertMatrix, LayerSlots
from engine.model.kernels import SharedExpert
from engine.model.weights import Linear
from engine.native.core import NativeCore, native_core
from engine.native.kernels import NativeKernels

DIM, HIDDEN, TOP_K, VOCABULARY = 2048, 512, 10, 32768
LAYERS, SLOTS = 8, 64  # far more than any cache holds, and little enough to make quickly
RANDOM = np.random.default_rng(0)


def quantized(*shape: int, bits: int = 4, group: int = 64) -> Linear:
    """Random codes; scales and biases of bfloat16, such that weights are around 0."""
    *rows, width = shape
    words = RANDOM.integers(0, 2**32, (*rows, width * bits // 32), dtype=np.uint32)
    scales = mx.full((*rows, width // group), 2.0**-bits, dtype=mx.bfloat16)
    weight, biases = mx.array(words), scales * -(2.0 ** (bits - 1))
    mx.eval(weight, scales, biases)
    return Linear(weight, scales, biases, bits, group)


def median(run: Callable[[], object], count: int = 15) -> float:
    """Seconds."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def copy_rate() -> float:
    """Bytes/s read plus written by copying memory."""
    source, target = np.ones(1 << 27, np.uint8), np.zeros(1 << 27, np.uint8)
    return 2 * source.nbytes / median(lambda: np.copyto(target, source), 7)


def nbytes(w: Linear) -> int:
    """As it lies in memory."""
    assert w.scales is not None
    return int(w.weight.nbytes + 2 * w.scales.nbytes)


class Token:
    """The matrices that one token passes, layer by layer."""

    def __init__(self) -> None:
        dense = [(12288, DIM), (DIM, 4096)]
        attention = [(8192, DIM), (512, DIM), (512, DIM), (DIM, 4096)]
        self.mixers = [
            [quantized(*shape) for shape in (attention if layer % 4 == 3 else dense)]
            for layer in range(LAYERS)
        ]
        self.gate = [quantized(256, DIM, bits=8) for _ in range(LAYERS)]
        self.shared = [
            SharedExpert(
                quantized(HIDDEN, DIM),
                quantized(HIDDEN, DIM),
                quantized(DIM, HIDDEN),
                quantized(1, DIM, bits=8),
            )
            for _ in range(LAYERS)
        ]
        self.slots = [layer_slots() for _ in range(LAYERS)]
        self.head = quantized(VOCABULARY, DIM)

    @property
    def weight_bytes(self) -> int:
        """What a token reads."""
        slots = self.slots[0]
        expert = sum(
            m.weight[0].nbytes + 2 * m.scales[0].nbytes
            for m in (slots.gate, slots.up, slots.down)
            if m.scales is not None
        )
        dense = sum(nbytes(w) for mixer in self.mixers for w in mixer)
        dense += sum(nbytes(w) for w in (*self.gate, self.head))
        dense += sum(
            nbytes(w) for s in self.shared for w in (s.gate_proj, s.up_proj, s.down_proj, s.gate)
        )
        return dense + LAYERS * TOP_K * int(expert)

    def run(self, kernels: NativeKernels, rows: int) -> None:
        """All products of `rows` tokens."""
        x = mx.array(RANDOM.standard_normal((rows, DIM)).astype(np.float32))
        wide = mx.array(RANDOM.standard_normal((rows, 4096)).astype(np.float32))
        tokens = mx.array(np.repeat(np.arange(rows, dtype=np.uint32), TOP_K))
        for layer in range(LAYERS):
            for w in self.mixers[layer]:
                kernels.linear(x if w.in_features == DIM else wide, w)
            kernels.route(x, self.gate[layer], TOP_K, True)
            kernels.shared_mlp(x, self.shared[layer])
            chosen = RANDOM.permuted(np.tile(np.arange(SLOTS), (rows, 1)), axis=1)[:, :TOP_K]
            slot_ids = mx.array(chosen.astype(np.uint32).ravel())
            kernels.expert_mlp(x, self.slots[layer], slot_ids, tokens, False)
        kernels.linear(x[-1:], self.head)


def layer_slots() -> LayerSlots:
    """Slots full of random experts."""

    def matrix(out: int, width: int) -> ExpertMatrix:
        w = quantized(SLOTS, out, width)
        return ExpertMatrix(w.weight, w.scales, w.biases, w.bits, w.group_size)

    gate, up, down = matrix(HIDDEN, DIM), matrix(HIDDEN, DIM), matrix(DIM, HIDDEN)
    return LayerSlots(gate, up, down, ((),) * SLOTS)


def products(kernels: NativeKernels, core: NativeCore) -> None:
    """One matrix: each width, one row and many."""
    x = mx.array(RANDOM.standard_normal((512, DIM)).astype(np.float32))
    for bits in (2, 3, 4, 5, 6, 8):
        w = quantized(16384, DIM, bits=bits)
        line = [f"{bits} bits:"]
        for rows in (1, 8, 512):
            part, sub = x[:rows], w if rows == 1 else small(w)
            mx.eval(part)
            seconds = median(lambda part=part, sub=sub: kernels.linear(part, sub), 5)
            rate = rows * sub.out_features * DIM / seconds / 1e9
            line.append(f"{rows} rows {rate:.1f} GMAC/s")
            if rows == 1:
                line[-1] += f" ({nbytes(sub) / seconds / 1e9:.1f} GB/s)"
        print("  " + ", ".join(line), f"[{core.threads} threads]", flush=True)


def small(w: Linear) -> Linear:
    """Its first 2048 rows."""
    assert w.scales is not None
    assert w.biases is not None
    parts = [mx.contiguous(part[:2048]) for part in (w.weight, w.scales, w.biases)]
    mx.eval(parts)
    return Linear(*parts, w.bits, w.group_size)


def main() -> None:
    """Print the figures."""
    mx.set_default_device(mx.cpu)
    core = native_core()
    assert core is not None
    kernels = NativeKernels(core)
    token = Token()
    print(f"{core.instruction_set}, {core.threads} threads")
    for _ in range(3):
        copied = copy_rate()
        seconds = median(lambda: token.run(kernels, 1))
        rate = token.weight_bytes / seconds
        print(
            f"  a token's products: {seconds * 1e3:.1f} ms for {token.weight_bytes / 1e6:.0f} MB,"
            f" {rate / 1e9:.1f} GB/s, {rate / copied:.2f} of a copy's {copied / 1e9:.1f} GB/s",
            flush=True,
        )
    seconds = median(lambda: token.run(kernels, 512), 3)
    print(f"  512 tokens' products: {seconds:.2f} s, {512 / seconds:.0f} tokens/s", flush=True)
    products(kernels, core)


if __name__ == "__main__":
    main()
