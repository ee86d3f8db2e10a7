"""Opening a model: checks, plan, dense weights, slots, kernels. The one way from a path to a Model.

The thread that loads a model owns it: MLX's streams belong to threads.
"""

import logging
import os
from collections.abc import Callable
from pathlib import Path

import mlx.core as mx

from engine.container.container import open_container
from engine.container.dense import load_dense
from engine.experts.cache import ExpertCache
from engine.experts.integrity import CheckedReader, known_sums
from engine.experts.policy import PolicyFactory, policy_for
from engine.experts.reader import ExpertReader, ThreadedReader
from engine.experts.thread_probe import threads_for
from engine.memory.machine import return_freed
from engine.memory.page_cache import no_room_to_cache
from engine.memory.plan import PLANNED_CONTEXT, check_fits, floor_bytes, plan_memory
from engine.model.hybrid import Model
from engine.model.kernels import Kernels
from engine.model.metal.kernels import MetalKernels
from engine.model.metal.proof import prove
from engine.model.moe import OnRoute, unheard
from engine.model.plain import PlainKernels
from engine.native.core import native_core
from engine.native.kernels import NativeKernels
from engine.native.reader import NativeReader

log = logging.getLogger(__name__)


def load_model(
    path: Path,
    *,
    memory_bytes: int | None = None,
    slots: int | None = None,
    reader_threads: int | None = None,
    direct_reads: bool | None = None,
    policy: PolicyFactory = policy_for,
    kernels: Kernels | None = None,
    on_route: OnRoute = unheard,
    check_reads: int = 0,
    context_tokens: int = PLANNED_CONTEXT,
    chunk_tokens: int | None = None,
    snapshots_bytes: int | None = None,
    progress: Callable[[str, float], None] = lambda phase, share: None,
) -> Model:
    """Open, check and load the container at `path`, within `memory_bytes` or with `slots` a layer.

    Set aside beside the experts: room for `context_tokens` of conversation (more may come, at the
    experts' cost), prefill chunks of `chunk_tokens`, and kept prefixes; these two as large as the
    memory lets them be, unless given.

    `progress` hears a phase ("checking", "dense", "slots") and how much of it is done, 0 to 1;
    `on_route` hears each layer's choice of experts (`TraceRecorder.add`). `check_reads`: of so many
    expert reads, one is held against its checksum; 0: none. Without `reader_threads`, a short
    measurement of the volume says how many. `direct_reads`: past the system's page cache, as on
    Linux where nothing says otherwise and that cache has no room.
    Raises the errors of `engine.errors` that name what to cure.
    """
    progress("checking", 0.0)
    container = open_container(path)
    for warning in container.warnings:
        log.warning("%s: %s", path.name, warning)
    kernels = kernels or default_kernels()
    plan = plan_memory(
        container,
        memory_bytes=memory_bytes,
        slots=slots,
        kernels=kernels,
        chunk_tokens=chunk_tokens,
        context_tokens=context_tokens,
        snapshots_bytes=snapshots_bytes,
    )
    check_fits(plan, floor_bytes(plan, container.config.experts_per_token))
    mx.set_cache_limit(0)  # what loading frees, nothing after it can use
    progress("dense", 0.0)
    tensors = load_dense(container, container.stored)
    progress("slots", 0.0)
    direct = no_room_to_cache(plan, container.layout) if direct_reads is None else direct_reads
    threads = reader_threads or threads_for(container, direct=direct)
    reader = default_reader(threads, direct=direct)
    if check_reads:
        reader = CheckedReader(reader, known_sums(container), check_reads)
    cache = ExpertCache(container, plan.slots_per_layer, reader, policy)
    if isinstance(kernels, MetalKernels):
        prove(kernels, container.config, cache.slots(0))
    model = Model(container, tensors, cache, kernels, plan, reader, on_route)
    mx.set_cache_limit(plan.allocator_bytes)
    return_freed()
    progress("slots", 1.0)
    return model


def activation_dtype() -> mx.Dtype:
    """What this machine computes in: bfloat16 on Metal, float32 on a CPU."""
    on_gpu = mx.default_device().type == mx.DeviceType.gpu
    return mx.bfloat16 if on_gpu else mx.float32


def default_kernels(*, plain: bool = False) -> Kernels:
    """The fastest kernels that this machine can run.

    MLX's own operations where `plain`, or where MARTLET_PLAIN is 1.
    """
    dtype = activation_dtype()
    if plain or os.environ.get("MARTLET_PLAIN") == "1":
        return PlainKernels(dtype)
    if dtype != mx.float32:
        return MetalKernels(dtype)
    native = native_core()
    return NativeKernels(native) if native else PlainKernels(dtype)


def default_reader(thread_count: int, *, direct: bool = False) -> ExpertReader:
    """The fastest reader that this machine can run. `direct`: past the page cache."""
    native = native_core()
    if native:
        return NativeReader(native, thread_count, direct=direct)
    return ThreadedReader(thread_count, direct=direct)
