"""A real control group around a real process: it stays within a limit, and follows a lower one.

The long form, with the kernel's stalls and the growing back, is tests/bench/bench_pressure.py.
"""

import sys
from collections.abc import Iterator

import pytest

from tests.bench.bench_pressure import Pressed, play
from tests.bench.cgroup import MemoryGroup, NoController, memory_group
from tests.engine.conftest import TinyModels

MB = 1_000_000
PROMPT, TOKENS = 60, 30
TOKEN_MS = 100  # as slow as a large model
SLOTS = 64


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
def test_a_lower_limit_shrinks_the_pool_at_once_and_changes_no_token(
    group: MemoryGroup, tiny_models: TinyModels
) -> None:
    path = tiny_models.container(
        "qwen3_next", bits=4, num_experts=SLOTS, hidden_size=512, moe_intermediate_size=512
    )
    with Pressed(path, SLOTS) as alone:
        expected, _ = play(alone, PROMPT, TOKENS, lambda: None)
        total, pool = alone.loaded["total"], alone.loaded["pool"]
    group.limit(total + 60 * MB)
    needed: list[int] = []

    def squeeze() -> None:
        needed.append(group.used_bytes - group.cache_bytes)
        group.limit(needed[0] + 5 * MB)

    with Pressed(path, SLOTS, group, TOKEN_MS) as pressed:
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
