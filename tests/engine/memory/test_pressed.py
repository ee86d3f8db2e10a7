"""A real control group around a real process: it stays within a limit, and follows a lower one.

Around another process, whose stalls are none of ours.

The long form, with the kernel's stalls and the growing back, is tests/bench/bench_pressure.py.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.memory import machine
from tests.bench.bench_pressure import Hog, Pressed, play
from tests.bench.cgroup import MemoryGroup, NoController, memory_group
from tests.engine.conftest import TinyModels

MB = 1_000_000
PROMPT, TOKENS = 60, 30
TOKEN_MS = 100  # as slow as a large model
SLOTS = 64


@pytest.fixture(scope="module")
def large(tiny_models: TinyModels) -> Path:
    return tiny_models.container(
        "qwen3_next", bits=4, num_experts=SLOTS, hidden_size=512, moe_intermediate_size=512
    )


@pytest.fixture
def group() -> Iterator[MemoryGroup]:
    if sys.platform != "linux":
        pytest.skip("control groups are Linux's")
    try:
        with memory_group("martlet-test") as group:
            yield group
    except NoController as error:
        pytest.skip(str(error))


@pytest.mark.slow
def test_a_neighbour_that_thrashes_within_its_own_limit_costs_us_nothing(
    group: MemoryGroup, large: Path
) -> None:
    """The kernel tells us of its stalls all the same: without a group we hear of all programs'."""
    if not os.access("/proc/pressure/memory", os.W_OK):
        pytest.skip("the kernel takes no triggers here")
    if machine.available_bytes() < 2 * machine.spare_bytes(machine.total_bytes()):
        pytest.skip("memory is not plentiful here")
    group.limit(40 * MB)
    hogs: list[Hog] = []
    with Pressed(large, SLOTS, token_ms=TOKEN_MS) as pressed:
        try:
            answered = list(pressed.answer(PROMPT, 5))
            hogs += [Hog(group, large, MB) for _ in range(2)]
            for _ in range(20):
                answered += pressed.answer(PROMPT, 50)
                if sum(answered[-1]["stalls"].values()):
                    break
            else:
                pytest.skip("the hogs did not stall here")
        finally:
            for hog in hogs:
                hog.end()
    assert {line["kind"] for line in answered} == {"look", "done"}
    assert {line["level"] for line in answered if line["kind"] == "look"} == {"normal"}


@pytest.mark.slow
def test_a_lower_limit_shrinks_the_pool_at_once_and_changes_no_token(
    group: MemoryGroup, large: Path
) -> None:
    with Pressed(large, SLOTS) as alone:
        expected, _ = play(alone, PROMPT, TOKENS, lambda: None)
        total, pool = alone.loaded["total"], alone.loaded["pool"]
    group.limit(total + 60 * MB)
    needed: list[int] = []

    def squeeze() -> None:
        needed.append(group.used_bytes - group.cache_bytes)
        group.limit(needed[0] + 5 * MB)

    with Pressed(large, SLOTS, group, TOKEN_MS) as pressed:
        assert play(pressed, PROMPT, TOKENS, lambda: None) == (expected, [])
        tokens, changes = play(pressed, PROMPT, TOKENS, squeeze)
        used = group.used_bytes - group.cache_bytes
    assert tokens == expected
    assert changes[0]["after"] <= 4  # two, and what was on its way to us
    assert changes[0]["level"] == "warning"
    assert changes[0]["message"].startswith("Memory is short: expert pool")
    freed = pool * (SLOTS - changes[-1]["slots"]) // SLOTS
    assert freed > 10 * MB
    assert needed[0] - used > 0.7 * freed
    assert group.kills() == 0
