"""Fits here: the formula against measured engines, and words a person understands."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.container.catalogue import find_entry
from engine.container.fit import (
    Machine,
    ModelShape,
    chip_bandwidth,
    fits_here,
    hit_rate,
    memory_bandwidth,
    planned_slots,
    tokens_per_s,
)

GB = 10**9


def shape_named(id: str) -> ModelShape:
    entry = find_entry(id)
    assert entry
    return entry.shape


SMALL, LARGE = shape_named("qwen3.6-35b"), shape_named("qwen3-next-80b")
M3 = Machine(16 * GB, 100e9, 3.3e9, 500 * GB)


@pytest.mark.parametrize(
    ("bandwidth", "disk", "slots", "measured"),
    [(153e9, 6.3e9, 16, 14.35), (100e9, 3.3e9, 128, 22.5)],  # an M5 and an M3, both 35B at 4 bits
)
def test_the_formula_meets_what_engines_measured(
    bandwidth: float, disk: float, slots: int, measured: float
) -> None:
    machine = Machine(16 * GB, bandwidth, disk, 0)
    assert tokens_per_s(SMALL, machine, slots) == pytest.approx(measured, rel=0.15)


def test_a_fit_is_said_in_words() -> None:
    fit = fits_here(SMALL, M3)
    assert fit.words == "About 12 tokens/s · uses 4.9 GB"
    assert (fit.verdict, fit.reason) == ("fits", "")


def test_a_slow_disk_is_said() -> None:
    fit = fits_here(LARGE, replace(M3, memory_bytes=8 * GB, read_bytes_per_s=0.5e9))
    assert (fit.verdict, fit.words) == ("slow", "Slow here: 1 token/s · uses 3.6 GB")


def test_less_than_one_token() -> None:
    fit = fits_here(LARGE, replace(M3, memory_bytes=8 * GB, read_bytes_per_s=0.1e9))
    assert fit.words == "Slow here: less than 1 token/s · uses 3.6 GB"


def test_before_the_disk_is_probed_no_speed_is_claimed() -> None:
    fit = fits_here(SMALL, replace(M3, read_bytes_per_s=None))
    assert (fit.tokens_per_s, fit.words) == (None, "Uses 4.9 GB")


def test_a_small_memory_says_what_is_needed() -> None:
    fit = fits_here(SMALL, replace(M3, memory_bytes=3 * GB))
    assert fit.verdict == "memory"
    assert fit.reason == "Needs 2.9 GB for itself; this machine has 3.0 GB in all."


def test_a_small_disk_says_what_is_missing_unless_the_model_is_there() -> None:
    machine = replace(M3, free_bytes=20 * GB)
    fit = fits_here(SMALL, machine)
    assert (fit.verdict, fit.reason) == ("disk", "3.5 GB more disk space needed.")
    assert fits_here(SMALL, machine, installed=True).verdict == "fits"


def test_with_all_experts_resident_the_disk_does_not_count() -> None:
    machine = Machine(128 * GB, 400e9, None, 500 * GB)
    assert tokens_per_s(SMALL, machine, SMALL.expert_count) == pytest.approx(70, rel=0.1)
    assert planned_slots(SMALL, 10**15) <= SMALL.expert_count


@given(st.floats(0, 1), st.floats(0, 1))
@settings(deadline=None)
def test_more_experts_never_hit_less(a: float, b: float) -> None:
    low, high = sorted((a, b))
    assert 0 <= hit_rate(low) <= hit_rate(high) <= 1


@given(st.integers(GB, 512 * GB), st.floats(1e7, 2e10))
@settings(deadline=None)
def test_every_machine_has_an_answer(memory: int, disk: float) -> None:
    fit = fits_here(LARGE, Machine(memory, 100e9, disk, 500 * GB))
    assert fit.words
    assert fit.tokens_per_s is not None
    assert fit.tokens_per_s > 0
    assert fit.memory_bytes >= LARGE.floor_bytes


def test_chips_by_name() -> None:
    assert chip_bandwidth("Apple M4 Pro\n") == 273
    assert chip_bandwidth("Apple M9") == chip_bandwidth("") > 60


def test_some_bandwidth_is_found_here() -> None:
    assert memory_bandwidth() > 1e8
