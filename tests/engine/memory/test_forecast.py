"""The forecast is the plan of a load, or the refusal of one, and what is given back counts."""

from collections.abc import Callable
from pathlib import Path

import pytest

import engine
from engine import protocol as wire
from engine.memory import machine
from engine.memory.forecast import forecast
from tests.engine.conftest import TinyModels

GB = 1_000_000_000
MB = 1_000_000
SetMachine = Callable[[float, int], None]


@pytest.fixture
def model(tiny_models: TinyModels) -> Path:
    return tiny_models.container("qwen3_next", bits=4)


@pytest.fixture
def has(monkeypatch: pytest.MonkeyPatch) -> SetMachine:
    def has(free: float, used: int = 80 * MB) -> None:
        monkeypatch.setattr(machine, "total_bytes", lambda: 8 * GB)
        monkeypatch.setattr(machine, "available_bytes", lambda: int(free * GB))
        monkeypatch.setattr(machine, "working_set_bytes", lambda: None)
        monkeypatch.setattr(machine, "used_bytes", lambda: used)

    return has


def test_it_is_what_a_load_takes(model: Path, has: SetMachine) -> None:
    has(6.0)
    told = forecast(wire.Plan(str(model)))
    assert (told.path, told.memory_bytes, told.message) == (str(model), None, "")
    loaded = engine.load_model(model)
    try:
        assert told.ledger is not None
        assert told.ledger.total_bytes == loaded.plan.total_bytes
        assert told.ledger.slots_per_layer == loaded.plan.slots_per_layer
    finally:
        loaded.close()
    assert told.least_bytes < told.ledger.total_bytes <= told.most_bytes


def test_a_budget_is_kept(model: Path, has: SetMachine) -> None:
    has(6.0)
    limits = forecast(wire.Plan(str(model)))
    budget = (limits.least_bytes + limits.most_bytes) // 2
    told = forecast(wire.Plan(str(model), budget))
    assert told.ledger is not None
    assert limits.least_bytes <= told.ledger.total_bytes <= budget


def test_too_small_a_budget_is_refused_with_the_least_that_works(
    model: Path, has: SetMachine
) -> None:
    has(6.0)
    told = forecast(wire.Plan(str(model), 10 * MB))
    assert "too small" in told.message
    assert "Allow at least" in told.remedy
    assert told.ledger is not None
    assert told.ledger.total_bytes == told.least_bytes


def test_a_machine_without_room_refuses_with_a_remedy(model: Path, has: SetMachine) -> None:
    has(0.01, 5 * MB)
    told = forecast(wire.Plan(str(model)))
    assert "are free" in told.message
    assert "Close other apps" in told.remedy
    assert told.free_bytes == 15 * MB
    has(0.01, 5 * MB)
    told = forecast(wire.Plan(str(model), forecast(wire.Plan(str(model))).most_bytes))
    assert "are free" in told.message


def test_the_model_that_is_replaced_gives_its_memory_back(model: Path, has: SetMachine) -> None:
    has(0.01, 2 * GB)  # all that is free is in the model that is loaded
    told = forecast(wire.Plan(str(model)))
    assert told.message == ""
    assert told.free_bytes == 2 * GB + 10 * MB


def test_a_model_that_is_away_has_no_ledger(tmp_path: Path, has: SetMachine) -> None:
    has(6.0)
    told = forecast(wire.Plan(str(tmp_path / "gone.qpack")))
    assert told.ledger is None
    assert "There is no folder" in told.message
