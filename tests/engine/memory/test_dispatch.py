"""The memory pressure source of libdispatch, against a library that calls from foreign threads."""

import ctypes
import threading
from collections.abc import Iterator

import pytest

from engine.memory.dispatch import DispatchSource
from engine.memory.pressure import Pressure

NORMAL, WARNING, CRITICAL = 1, 2, 4


@pytest.fixture
def heard() -> list[tuple[str, int]]:
    return []


@pytest.fixture
def source(foreign: ctypes.CDLL, heard: list[tuple[str, int]]) -> Iterator[DispatchSource]:
    def on_pressure(level: str) -> None:
        heard.append((level, threading.get_ident()))

    source = DispatchSource(on_pressure, foreign)
    yield source
    source.close()


def test_events_arrive_from_a_foreign_thread(
    foreign: ctypes.CDLL, source: DispatchSource, heard: list[tuple[str, int]]
) -> None:
    assert foreign.fake_pressure(WARNING)
    assert foreign.fake_pressure(CRITICAL)
    assert [level for level, _ in heard] == ["warning", "critical"]
    assert threading.get_ident() not in {thread for _, thread in heard}


def test_the_all_clear_is_not_asked_for(foreign: ctypes.CDLL, source: DispatchSource) -> None:
    assert not foreign.fake_pressure(NORMAL)


def test_nothing_is_heard_after_closing_and_it_is_released_once(
    foreign: ctypes.CDLL, source: DispatchSource, heard: list[tuple[str, int]]
) -> None:
    released = ctypes.c_int.in_dll(foreign, "fake_released")
    before = released.value
    source.close()
    source.close()
    assert released.value == before + 1
    assert not foreign.fake_pressure(CRITICAL)
    assert heard == []


def test_a_system_without_a_source_says_so(foreign: ctypes.CDLL) -> None:
    refuses = ctypes.c_int.in_dll(foreign, "fake_refuses")
    refuses.value = 1
    try:
        with pytest.raises(OSError, match="no memory pressure source"):
            DispatchSource(print, foreign)
    finally:
        refuses.value = 0


def test_an_event_sets_the_level_while_it_lasts(foreign: ctypes.CDLL) -> None:
    now = [100.0]
    pressure = Pressure(asked=lambda: None, clock=lambda: now[0])
    source = DispatchSource(pressure.on_pressure, foreign)
    try:
        foreign.fake_pressure(CRITICAL)
        assert pressure.take_news()
        assert not pressure.take_news()
        assert pressure.level() == "critical"
        now[0] += 60
        assert pressure.level() == "normal"
    finally:
        source.close()
