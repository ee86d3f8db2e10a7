"""When the page cache is only a detour."""

import sys
from types import SimpleNamespace
from typing import Any, cast

import pytest

from engine.memory import machine
from engine.memory.page_cache import no_room_to_cache

EXPERTS = SimpleNamespace(layer_count=10, layer_bytes=1_000_000_000)


def asked(monkeypatch: pytest.MonkeyPatch, free: int, plan: int, used: int = 0) -> bool:
    monkeypatch.setattr(machine, "available_bytes", lambda: free)
    monkeypatch.setattr(machine, "used_bytes", lambda: used)
    return no_room_to_cache(cast("Any", SimpleNamespace(total_bytes=plan)), cast("Any", EXPERTS))


@pytest.mark.skipif(sys.platform == "darwin", reason="there the cache always serves")
@pytest.mark.parametrize(
    ("free", "plan", "used", "expected"),
    [
        (12_000_000_000, 10_000_000_000, 0, False),  # a fifth of the experts
        (11_250_000_000, 10_000_000_000, 0, False),
        (11_249_000_000, 10_000_000_000, 0, True),
        (9_000_000_000, 10_000_000_000, 0, True),
        (10_000_000_000, 10_000_000_000, 1_300_000_000, False),  # part of the plan is taken
    ],
)
def test_an_eighth_of_the_experts_has_to_fit_beside_the_plan(
    free: int, plan: int, used: int, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked(monkeypatch, free, plan, used) == expected


def test_macos_always_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not asked(monkeypatch, 0, 10**10)
