"""The ledger: what is counted, what is chosen by default, and what is refused, with its remedy."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

import engine
from engine.container.container import Container, open_container
from engine.errors import BadOption, NotEnoughMemory
from engine.experts.slots import slot_bytes
from engine.memory import machine
from engine.memory.plan import (
    CHUNKS,
    CPU_CHUNK,
    LEAST_STAGED,
    STAGED_EXPERTS,
    MemoryPlan,
    check_fits,
    chunk_for,
    default_target_bytes,
    floor_bytes,
    least_plan,
    plan_memory,
    pool_bytes,
    scratch_bytes,
)
from engine.model.plain import PlainKernels
from engine.native.core import native_core
from engine.native.kernels import NativeKernels
from tests.engine.conftest import TinyModels

GB = 1_000_000_000
PLAIN = PlainKernels(mx.float32)


@pytest.fixture(scope="module")
def container(tiny_models: TinyModels) -> Container:
    return open_container(tiny_models.container("qwen3_next", bits=4))


def plan(container: Container, **how: Any) -> MemoryPlan:
    return plan_memory(container, **{"kernels": PLAIN, "chunk_tokens": 512} | how)


@pytest.fixture
def machine_of(monkeypatch: pytest.MonkeyPatch) -> Any:
    def machine_of(total: float, free: float, gpu: float | None = None) -> None:
        monkeypatch.setattr(machine, "total_bytes", lambda: int(total * GB))
        monkeypatch.setattr(machine, "available_bytes", lambda: int(free * GB))
        monkeypatch.setattr(machine, "working_set_bytes", lambda: int(gpu * GB) if gpu else None)

    return machine_of


def test_the_total_is_the_sum_of_all_that_is_counted(container: Container) -> None:
    planned = plan(container, slots=8)
    parts = {name: n for name, n in asdict(planned).items() if name.endswith("_bytes")}
    assert planned.total_bytes == sum(parts.values())
    assert planned.dense_bytes == container.resident_bytes
    assert planned.slots_bytes == 8 * 4 * slot_bytes(container.layout)


def test_it_grows_with_the_conversation_the_chunk_and_the_slots(container: Container) -> None:
    planned = plan(container, slots=8)
    assert plan(container, slots=8, context_tokens=10**5).state_bytes > planned.state_bytes
    assert plan(container, slots=8, chunk_tokens=64).scratch_bytes < planned.scratch_bytes
    assert plan(container, slots=9).total_bytes > planned.total_bytes
    everything = plan(container, slots=16)
    assert (everything.staged_experts, everything.staging_bytes) == (0, 0)


def test_a_budget_is_never_exceeded(container: Container) -> None:
    least = least_plan(container, PLAIN).total_bytes
    for extra in range(0, 10**6, 77_777):
        assert (
            plan_memory(container, kernels=PLAIN, memory_bytes=least + extra).total_bytes
            <= least + extra
        )
    with pytest.raises(NotEnoughMemory, match="Allow at least"):
        plan_memory(container, kernels=PLAIN, memory_bytes=least - 1)
    with pytest.raises(BadOption, match="at least 4"):
        plan(container, slots=3)


def test_the_tokenizer_counts_by_its_file(container: Container, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(b" " * 1_000_000)
    with_text = replace(container, path=tmp_path)
    grown = plan(with_text, slots=8).interpreter_bytes - plan(container, slots=8).interpreter_bytes
    assert grown == 20_000_000


@pytest.mark.parametrize(
    ("total", "free", "gpu", "target"),
    [
        (8, 7, 5.7, 3.3),  # fixed parts and a small pool
        (16, 12, 11, 4.5),
        (24, 20, 18, 7.0),
        (64, 60, 48, 14.0),
        (16, 5, 11, 3.5),  # others use the machine
        (8, 3.6, 5.7, 2.5),  # so little is free that only the least fits
        (24, 20, 5, 3.0),  # a GPU that takes little
    ],
)
def test_the_default_follows_the_machine(
    machine_of: Any, container: Container, total: float, free: float, gpu: float, target: float
) -> None:
    machine_of(total, free, gpu)
    fixed = replace(plan(container, slots=8), slots_bytes=0, dense_bytes=0, state_bytes=0)
    fixed = replace(fixed, dense_bytes=2 * GB - fixed.fixed_bytes)
    assert default_target_bytes(fixed, int(2.5 * GB)) == pytest.approx(target * GB, rel=0.01)


def test_a_machine_without_room_for_the_least_refuses(
    machine_of: Any, container: Container
) -> None:
    machine_of(8, 1.0)
    with pytest.raises(NotEnoughMemory, match=r"needs 2\.5 GB of memory; 1\.0 GB are free"):
        default_target_bytes(plan(container, slots=8), int(2.5 * GB))


def test_more_memory_never_means_a_smaller_pool() -> None:
    pools = [pool_bytes(total * GB // 2) for total in range(8, 400)]
    assert pools == sorted(pools)
    assert pool_bytes(8 * GB) < 1.6 * GB
    assert pool_bytes(512 * GB) == 12 * GB


def test_a_plan_larger_than_what_is_free_is_refused_with_what_would_do(
    machine_of: Any, container: Container
) -> None:
    large = replace(plan(container, slots=8), slots_bytes=3 * GB)
    machine_of(8, 1.5)
    with pytest.raises(NotEnoughMemory, match=r"takes 3\.\d GB of memory; 1\.\d GB are free") as no:
        check_fits(large, floor_bytes(large, 1))
    assert "Allow at most 1." in no.value.remedy
    with pytest.raises(NotEnoughMemory) as no:
        check_fits(large, floor_bytes(large, 8))
    assert no.value.remedy == "Close other apps, or choose a smaller model."
    machine_of(8, 6.0, gpu=2.0)
    with pytest.raises(NotEnoughMemory, match=r"2\.0 GB are free"):
        check_fits(large, floor_bytes(large, 1))
    machine_of(8, 6.0, gpu=5.0)
    check_fits(large, floor_bytes(large, 1))


def test_nothing_is_loaded_into_memory_that_is_not_there(
    machine_of: Any, container: Container
) -> None:
    machine_of(8, 0.01)
    with pytest.raises(NotEnoughMemory, match="Close other apps"):
        engine.load_model(container.path, slots=8)


@pytest.mark.parametrize("dtype", [mx.bfloat16, mx.float32])
def test_chunks_grow_with_the_budget(container: Container, dtype: mx.Dtype) -> None:
    """Never beyond an eighth of it, and on a CPU not beyond what is done within seconds."""
    kernels = PlainKernels(dtype)
    chunks = [chunk_for(container, kernels, 2**exponent) for exponent in range(20, 40)]
    assert chunks == sorted(chunks)
    assert chunks[0] == CHUNKS[-1]
    assert chunks[-1] == (CHUNKS[0] if dtype == mx.bfloat16 else CPU_CHUNK)
    for exponent, tokens in zip(range(20, 40), chunks, strict=True):
        fits = scratch_bytes(container, kernels, tokens) <= 2**exponent // 8
        assert fits or tokens == CHUNKS[-1]


def test_a_small_budget_keeps_fewer_prefixes(container: Container) -> None:
    usual = plan(container, slots=8)
    least = plan(container, slots=4, snapshots_bytes=0, chunk_tokens=128).total_bytes
    tight = plan_memory(container, memory_bytes=least + least // 8, kernels=PLAIN)
    assert tight.snapshots_bytes < usual.snapshots_bytes
    assert tight.total_bytes <= least + least // 8
    assert plan(container, slots=8, snapshots_bytes=7).snapshots_bytes == 7


def test_kernels_that_need_less_leave_more_to_the_experts(container: Container) -> None:
    native = native_core()
    if native is None:
        pytest.skip("no native core here")
    budget = least_plan(container, PLAIN).total_bytes
    slots = [
        plan_memory(container, memory_bytes=budget, kernels=kernels).slots_per_layer
        for kernels in (PLAIN, NativeKernels(native))
    ]
    assert slots[1] > slots[0]


def test_a_tight_budget_stages_smaller_groups(container: Container) -> None:
    least = least_plan(container, PLAIN)
    assert least.staged_experts == LEAST_STAGED
    assert least.staging_bytes == 2 * LEAST_STAGED * slot_bytes(container.layout)
    assert plan(container, memory_bytes=GB).staged_experts in (0, STAGED_EXPERTS)
    assert plan(container, slots=8).staged_experts == min(STAGED_EXPERTS, 16)  # all there are
