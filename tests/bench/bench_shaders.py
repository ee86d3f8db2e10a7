"""Operations in the graph of one decode token, and readbacks: a measure that no machine changes.

python -m tests.bench.bench_shaders

Counted on tiny models of both families, by MLX's own record of a traced graph, as it is built on
Metal: `mx.fast` functions, compiled functions and Metal kernels are one operation each. Layers of
one kind are alike, so tiny models of 4 and of 8 layers give what the published ones have. Views
(reshape, slice, ...) are operations of the graph that launch nothing; launches are the others.
Every expert is resident; a readback is a wait for the GPU in the middle of a token.
"""

import contextlib
import itertools
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from engine import loading
from engine.container.repack import repack
from engine.loading import load_model
from engine.model.kernels import Kernels
from engine.model.metal.kernels import MetalKernels
from engine.model.plain import PlainKernels
from engine.options import GenerationOptions
from engine.sampling import Sampler, resolve
from tests.engine.tiny import FAMILIES, Family, make_checkpoint

VIEWS = {
    *("AsStrided", "Broadcast", "ExpandDims", "Flatten", "Reshape", "Slice", "Split", "Squeeze"),
    *("StopGradient", "Transpose", "Unflatten", "View"),
}
FAST = ("rms_norm", "rope", "scaled_dot_product_attention", "gated_delta_update")
VOCAB = 248_320
PUBLISHED = {"qwen3_5_moe": ("35B", 40), "qwen3_next": ("80B", 48)}


@dataclass(frozen=True, slots=True)
class Count:
    """Of one decode token."""

    operations: int
    launches: int
    readbacks: int

    def at(self, layers: int, longer: "Count") -> "Count":
        """For so many layers, from this count of 4 and one of 8."""
        steps = layers // 4 - 1
        pairs = zip(_numbers(self), _numbers(longer), strict=True)
        return Count(*(four + steps * (eight - four) for four, eight in pairs))


def _numbers(count: Count) -> tuple[int, int, int]:
    return count.operations, count.launches, count.readbacks


def main() -> None:
    """Print the table."""
    mx.set_default_device(mx.cpu)
    with as_on_metal():  # mlx-lm compiles functions and builds kernels when it is imported
        import mlx_lm.models.qwen3_5_moe
        import mlx_lm.models.qwen3_next  # noqa: F401
    print(f"{'':28}{'operations':>12}{'launches':>10}{'readbacks':>11}")
    for family in FAMILIES:
        name, layers = PUBLISHED[family]
        with tempfile.TemporaryDirectory() as folder:
            paths = [checkpoint(Path(folder), family, n) for n in (4, 8)]
            rows = {
                "mlx-lm": [reference(path) for path in paths],
                "Martlet, plain": [ours(path, PlainKernels(mx.bfloat16)) for path in paths],
                "Martlet, shaders": [ours(path, MetalKernels(mx.bfloat16)) for path in paths],
            }
        for label, (four, eight) in rows.items():
            line(f"{name}, {label}", four.at(layers, eight))
    options = resolve(GenerationOptions(top_k=20, top_p=0.8, presence_penalty=1.5), {})
    kernels = MetalKernels(mx.bfloat16)
    line("drawing, plain", drawing(Sampler(options, VOCAB, [1, 2])))
    line("drawing, shaders", drawing(kernels.sampler(options, VOCAB, [1, 2])))


def line(label: str, count: Count) -> None:
    """One of the table."""
    print(f"{label:28}{count.operations:12}{count.launches:10}{count.readbacks:11}")


def drawing(sampler: Sampler) -> Count:
    """The next token from its logits."""
    logits = mx.array(np.zeros(VOCAB, np.float32))
    return counted(traced(lambda: [sampler.sample(logits)]), 0)


def checkpoint(folder: Path, family: Family, layers: int) -> Path:
    """A tiny one of so many layers, in bfloat16."""
    path = folder / f"{layers}"
    return make_checkpoint(path, family, bits=4, dtype=mx.bfloat16, num_hidden_layers=layers)


def ours(path: Path, kernels: Kernels) -> Count:
    """A decode step of the engine, with every expert in a slot."""
    container = path.with_name(f"{path.name}-{type(kernels).__name__}")
    if not container.exists():
        repack(path, container)
    with mock.patch.object(loading, "prove"):  # nothing runs here, so nothing can be proved
        opened = load_model(container, slots=16, kernels=kernels)
    with contextlib.closing(opened) as model:
        for layer in range(model.config.layer_count):
            model.cache.warm(layer, range(model.config.expert_count))
        state, before = model.new_state(), model.cache.stats

        def step() -> list[mx.array]:
            logits = model.decode(3, state)
            return [logits, *itertools.chain(*((d.conv, d.delta) for d in state.deltas))]

        names = traced(step)
        return counted(names, (model.cache.stats - before).readbacks)


def reference(path: Path) -> Count:
    """A decode step of mlx-lm, which waits for nothing but the token."""
    with as_on_metal():
        from mlx_lm.utils import load_model as load_reference

        model, _ = load_reference(path)
        cache = model.make_cache()

        def step() -> list[mx.array]:
            logits = model(mx.array([[3]]), cache=cache)
            states = itertools.chain(*(entry.state for entry in cache))
            return [logits, *(a for a in states if isinstance(a, mx.array))]

        return counted(traced(step), 0)


def counted(names: Counter[str], readbacks: int) -> Count:
    """The sums."""
    views = sum(number for name, number in names.items() if name in VIEWS)
    return Count(names.total(), names.total() - views, readbacks)


def traced(step: Callable[[], list[mx.array]]) -> Counter[str]:
    """The operations by name that `step` builds; nothing of it is computed."""
    records: list[dict[str, Any]] = []
    with as_on_metal(), mock.patch.multiple(mx, eval=ignored, async_eval=ignored):
        mx.export_function(records.append, step)
    return Counter(r["name"] for r in records if r.get("type") == "primitive")


def ignored(*_: Any) -> None:
    """Stands for mx.eval while a graph is traced."""


@contextlib.contextmanager
def as_on_metal() -> Iterator[None]:
    """MLX builds graphs as where it has a GPU: fused and compiled functions stay whole.

    So do `dequantize`, which is many operations on a processor, and `contiguous`, which no exported
    graph may hold.
    """
    fused = {name: whole(name, getattr(mx.fast, name)) for name in FAST}
    with (
        mock.patch.multiple(mx.fast, **fused),
        mock.patch.object(mx, "compile", compiled),
        mock.patch.object(mx, "contiguous", whole("contiguous", mx.contiguous)),
        mock.patch.object(mx, "dequantize", whole("dequantize", mx.dequantize)),
        mock.patch.object(nn, "silu", whole("silu", nn.silu)),  # compiled when it was imported
        mock.patch.object(mx.metal, "is_available", return_value=True),
        mock.patch.object(mx, "default_device", return_value=mx.Device(mx.gpu, 0)),
    ):
        yield


def compiled(function: Any = None, **options: Any) -> Any:
    """Stands for mx.compile, also as a decorator with options."""
    if function is None:
        return lambda f: whole(f.__name__, f)
    return whole(getattr(function, "__name__", "compiled"), function)


def whole(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as one operation with outputs of the same shapes and dtypes."""

    def one(*arguments: Any, **named: Any) -> Any:
        results = function(*arguments, **named)
        outputs = [results] if isinstance(results, mx.array) else list(results)
        inputs = [a for a in (*arguments, *named.values()) if isinstance(a, mx.array)]
        kernel = mx.fast.metal_kernel(
            name=name,
            input_names=[f"in{i}" for i in range(len(inputs))],
            output_names=[f"out{i}" for i in range(len(outputs))],
            source="",
        )
        stand_ins = kernel(
            inputs=inputs,
            output_shapes=[o.shape for o in outputs],
            output_dtypes=[o.dtype for o in outputs],
            grid=(1, 1, 1),
            threadgroup=(1, 1, 1),
        )
        return stand_ins[0] if isinstance(results, mx.array) else tuple(stand_ins)

    return one


if __name__ == "__main__":
    main()
