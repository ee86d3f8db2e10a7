"""Anatomy of a decode token: its time by disk, computation and Python; its waits and operations.

Taken in passes of their own, because looking costs time: one times every evaluation, another counts
the graph that each runs, in MLX's own drawing of it. Kernels that compute when they are called
(the native core's) are timed by the call, with what MLX has left to do for them.
"""

import io
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import mlx.core as mx

from engine.model.hybrid import Model
from engine.model.state import State
from engine.native.kernels import NativeKernels

TIMED_TOKENS = 16
COUNTED_TOKENS = 2
EAGER = (
    *("embed", "linear", "rms_norm", "delta_net", "attention", "route"),
    *("expert_mlp", "fill_pairs", "shared_mlp", "combine"),
)


@dataclass(frozen=True, slots=True)
class Anatomy:
    """Means of a token. Milliseconds; `disk_ms` is how long it stood still for reads."""

    disk_ms: float
    compute_ms: float
    python_ms: float
    readbacks: float  # waits for a router's choice
    operations: float  # of MLX's graphs, with the calls of the native core


def dissect(model: Model, token: int, state: State) -> Anatomy:
    """Decode some tokens after `state`, each the likeliest after the one before."""
    timer, counter = _Timer(), _Counter()
    with _watched(model, timer):
        before, started = model.cache.stats, time.perf_counter()
        token = _go_on(model, token, state, TIMED_TOKENS)
        total_s, spent = time.perf_counter() - started, model.cache.stats - before
    with _watched(model, counter):
        _go_on(model, token, state, COUNTED_TOKENS)
    python_s = max(0.0, total_s - timer.seconds - spent.wait_s)
    return Anatomy(
        disk_ms=1000 * spent.wait_s / TIMED_TOKENS,
        compute_ms=1000 * timer.seconds / TIMED_TOKENS,
        python_ms=1000 * python_s / TIMED_TOKENS,
        readbacks=spent.readbacks / TIMED_TOKENS,
        operations=counter.operations / COUNTED_TOKENS,
    )


class _Watch(Protocol):
    """Runs work that computes. `is_kernel`: a call of the native core, not of MLX."""

    def run(self, work: Callable[..., Any], arguments: Any, is_kernel: bool) -> Any: ...


@dataclass(slots=True)
class _Timer:
    seconds: float = 0.0

    def run(self, work: Callable[..., Any], arguments: Any, is_kernel: bool) -> Any:
        started = time.perf_counter()
        try:
            return work(*arguments)
        finally:
            self.seconds += time.perf_counter() - started


@dataclass(slots=True)
class _Counter:
    operations: int = 0

    def run(self, work: Callable[..., Any], arguments: Any, is_kernel: bool) -> Any:
        self.operations += pending(arguments) + is_kernel
        return work(*arguments)


def pending(tree: Any) -> int:
    """Operations that MLX has still to run for these arrays."""
    arrays: list[mx.array] = []
    _collect(tree, arrays)
    if not arrays:
        return 0
    drawing = io.StringIO()
    mx.export_to_dot(drawing, *arrays)
    return drawing.getvalue().count("shape=rectangle")


def _collect(tree: Any, arrays: list[mx.array]) -> None:
    if isinstance(tree, mx.array):
        arrays.append(tree)
    elif isinstance(tree, list | tuple):
        for item in tree:
            _collect(item, arrays)


def _go_on(model: Model, token: int, state: State, count: int) -> int:
    for _ in range(count):
        logits = model.decode(token, state)
        mx.eval(logits)
        token = int(mx.argmax(logits))
    return token


@contextmanager
def _watched(model: Model, watch: _Watch) -> Iterator[None]:
    """Everything that computes goes through `watch`: the outermost call of what is nested."""
    inside = False

    def through(work: Callable[..., Any], is_kernel: bool) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            nonlocal inside
            if inside:
                return work(*arguments)
            inside = True
            try:
                return watch.run(work, arguments, is_kernel)
            finally:
                inside = False

        return run

    with ExitStack() as stack:
        for name in ("eval", "async_eval"):
            _replace(stack, mx, name, through(getattr(mx, name), False))
        if isinstance(model.kernels, NativeKernels):
            for name in EAGER:
                _replace(stack, model.kernels, name, through(getattr(model.kernels, name), True))
        yield


def _replace(stack: ExitStack, owner: Any, name: str, value: Any) -> None:
    """For as long as the stack lasts; an object gets its class's own back."""
    own = vars(owner).get(name)
    setattr(owner, name, value)
    if own is None:
        stack.callback(delattr, owner, name)
    else:
        stack.callback(setattr, owner, name, own)
