"""What a memory target means."""

import pytest

from app.engine_state import EngineStats, MemoryPlan, ModelFacts
from app.memory_outlook import machine_bytes, outlook, target_range

GB = 1_000_000_000
FACTS = ModelFacts("m", "/m", "qwen3_5_moe", 32_768, 40, 256, 8, True)
PLAN = MemoryPlan(
    budget_bytes=3 * GB,
    core_bytes=GB,
    expert_bytes=GB,
    conversation_bytes=GB // 2,
    scratch_bytes=GB // 2,
    slots_per_layer=64,
)  # 2 GB beside the experts; 64 slots a layer in 1 GB
STATS = EngineStats(3 * GB, hit_rate=0.5, bytes_per_s=GB, token_ms=100.0, disk_ms=60.0)


def test_the_plan_in_force_gives_the_plan_in_force() -> None:
    now = outlook(3 * GB, PLAN, FACTS, STATS)
    assert now.slots_per_layer == 64
    assert now.hit_rate == pytest.approx(0.5)
    assert now.tokens_per_s == pytest.approx(10.0)
    assert now.fits


def test_more_memory_means_more_slots_hits_and_speed() -> None:
    now, more = (outlook(b, PLAN, FACTS, STATS) for b in (3 * GB, 4 * GB))
    assert more.slots_per_layer == 128
    assert now.hit_rate is not None
    assert more.hit_rate is not None
    assert more.hit_rate == pytest.approx(0.5**0.5)  # the share doubled: f^a with a = 1/2
    assert more.tokens_per_s == pytest.approx(1000 / (40 + 60 * (1 - 0.5**0.5) / 0.5))


def test_all_experts_in_memory_always_hit_and_never_wait() -> None:
    whole = outlook(60 * GB, PLAN, FACTS, STATS)
    assert whole.slots_per_layer == 256
    assert whole.hit_rate == 1.0
    assert whole.tokens_per_s == pytest.approx(25.0)


def test_less_than_one_tokens_experts_does_not_fit() -> None:
    assert not outlook(2 * GB, PLAN, FACTS, STATS).fits
    assert not outlook(0, PLAN, FACTS, STATS).fits


def test_without_a_measurement_there_is_no_rate() -> None:
    unknown = outlook(3 * GB, PLAN, FACTS, None)
    assert (unknown.slots_per_layer, unknown.hit_rate, unknown.tokens_per_s) == (64, None, None)
    idle = EngineStats(3 * GB, 0.0, 0.0, 0.0, 0.0)
    assert outlook(3 * GB, PLAN, FACTS, idle).tokens_per_s is None


def test_range_is_what_the_model_can_use() -> None:
    least, whole = target_range(PLAN, FACTS)
    assert outlook(least, PLAN, FACTS, None).fits
    assert not outlook(least - GB // 64, PLAN, FACTS, None).fits
    assert outlook(whole, PLAN, FACTS, None).slots_per_layer == 256


def test_machine_has_memory() -> None:
    assert machine_bytes() > 2**28
