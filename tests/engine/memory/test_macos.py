"""The calls into macOS, against a library that exports the same functions."""

import ctypes
import sys

import pytest

from engine.memory import macos
from engine.memory.condition import Condition, condition


def test_the_figures_of_the_host_and_of_the_task(foreign: ctypes.CDLL) -> None:
    assert macos.total_bytes(foreign) == 16 * 2**30
    assert macos.available_bytes(foreign) == (1000 - 100 + 30 + 2000) * 16384
    assert macos.footprint_bytes(foreign) == 900_000_000
    assert macos.peak_bytes(foreign) == 950_000_000
    assert macos.compressed_bytes(foreign) == 123_000_000


@pytest.mark.parametrize(
    ("value", "level"), [(1, "normal"), (2, "warning"), (4, "critical"), (3, None)]
)
def test_the_level_that_the_system_names(
    foreign: ctypes.CDLL, value: int, level: str | None
) -> None:
    ctypes.c_int.in_dll(foreign, "fake_level").value = value
    assert macos.reported_level(foreign) == level


def test_freed_memory_is_given_back(foreign: ctypes.CDLL) -> None:
    macos.return_freed(foreign)
    assert ctypes.c_int.in_dll(foreign, "fake_relieved").value == 1


@pytest.mark.parametrize("low_power", [False, True])
@pytest.mark.parametrize(
    ("value", "thermal"),
    [(0, "nominal"), (1, "fair"), (2, "serious"), (3, "critical"), (9, "critical")],
)
def test_heat_and_low_power(
    foreign: ctypes.CDLL, value: int, thermal: str, low_power: bool
) -> None:
    ctypes.c_long.in_dll(foreign, "fake_thermal").value = value
    ctypes.c_int.in_dll(foreign, "fake_low_power").value = low_power
    found = condition(foreign)
    assert (found.thermal, found.low_power) == (thermal, low_power)
    assert ctypes.c_int.in_dll(foreign, "fake_pools").value == 0


def test_elsewhere_the_machine_is_cool() -> None:
    if sys.platform == "darwin":
        pytest.skip("this machine says how hot it is")
    assert condition() == Condition("nominal", False)
