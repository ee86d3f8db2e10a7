"""Where a decoded token's time goes, piece by piece: by MLX's own operations, and by the core.

    python -m tests.bench pieces

Every piece is evaluated before the next begins, so sums are a little above a token's real time.
Four layers of the 80B's true shapes with 64 experts each, all of them resident; then a head, and
the sampler as the models' own settings have it. Which pieces the native core took over, and which
it left to MLX (the sampler), was decided by this table.
"""

import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx

import engine
from engine.model.kernels import Kernels
from engine.model.plain import PlainKernels
from engine.native.core import native_core
from engine.native.kernels import NativeKernels
from engine.options import GenerationOptions
from engine.sampling import Sampler, resolve
from tests.bench.synthetic import Shape, make_container

TOKENS, WARM = 24, 4
SHAPE = Shape(layers=4, experts=64)


class TimedKernels:
    """Kernels whose every piece is evaluated and timed."""

    def __init__(self, inner: Kernels) -> None:
        self.inner = inner
        self.seconds: dict[str, float] = defaultdict(float)

    def __getattr__(self, name: str) -> Any:
        piece = getattr(self.inner, name)
        if not callable(piece) or name in ("scratch_bytes", "sampler"):
            return piece
        return lambda *given: self.timed(name, lambda: piece(*given))

    def timed(self, name: str, run: Callable[[], Any]) -> Any:
        """The result of `run`, evaluated."""
        began = time.perf_counter()
        result = run()
        mx.eval([result.ids, result.scores] if hasattr(result, "scores") else result)
        self.seconds[name] += time.perf_counter() - began
        return result


def pieces_ms(path: Path, kernels: Kernels) -> dict[str, float]:
    """Milliseconds of a decoded token by piece."""
    timed = TimedKernels(kernels)
    model = engine.load_model(path, slots=SHAPE.experts, kernels=timed)  # type: ignore[arg-type]
    for layer in range(SHAPE.layers):
        model.cache.warm(layer, range(SHAPE.experts))
    options = resolve(GenerationOptions(seed=1, top_k=20, top_p=0.8), {})
    sampler, state = Sampler(options, SHAPE.vocab, []), model.new_state()
    token = 1
    for number in range(WARM + TOKENS):
        if number == WARM:
            timed.seconds.clear()
        logits = model.decode(token, state)
        mx.eval(logits)
        token = int(timed.timed("sampler", lambda logits=logits: sampler.sample(logits)).item())
    model.close()
    return {name: seconds / TOKENS * 1e3 for name, seconds in timed.seconds.items()}


def main() -> None:
    """Print the table."""
    native = native_core()
    if native is None:
        print("Not run: the native core cannot be built here.")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = make_container(Path(folder), SHAPE)
        plain = pieces_ms(path, PlainKernels(mx.float32))
        core = pieces_ms(path, NativeKernels(native))
    print(f"{'piece':14} {'MLX ms':>8} {'share':>6} {'core ms':>8} {'share':>6} {'times':>6}")
    for name in sorted(plain, key=lambda name: -plain[name]):
        print(
            f"{name:14} {plain[name]:8.2f} {plain[name] / sum(plain.values()):6.1%}"
            f" {core[name]:8.2f} {core[name] / sum(core.values()):6.1%}"
            f" {plain[name] / core[name]:6.1f}"
        )
    print(f"{'all':14} {sum(plain.values()):8.2f} {'':6} {sum(core.values()):8.2f}")


if __name__ == "__main__":
    main()
