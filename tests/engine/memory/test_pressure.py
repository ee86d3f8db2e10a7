"""The level in force: events that expire, answers when asked, and Linux's own stalls."""

import os
import sys
import threading
from pathlib import Path

import pytest

from engine.memory import linux
from engine.memory.pressure import HOLD_S, Pressure, open_source
from engine.memory.stalls import StallTriggers
from engine.protocol import PressureLevel


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_worst_of_what_was_told_and_asked_counts() -> None:
    clock = Clock()
    asked: list[PressureLevel | None] = [None]
    pressure = Pressure(lambda: asked[0], clock)
    assert pressure.level() == "normal"
    pressure.on_pressure("warning")
    assert pressure.level() == "warning"
    asked[0] = "critical"
    assert pressure.level() == "critical"
    asked[0] = "normal"
    assert pressure.level() == "warning"


def test_an_event_expires_and_an_all_clear_changes_nothing() -> None:
    clock = Clock()
    pressure = Pressure(lambda: None, clock)
    pressure.on_pressure("critical")
    clock.now = 1.0
    pressure.on_pressure("warning")
    pressure.on_pressure("normal")
    assert pressure.level() == "critical"
    clock.now = HOLD_S + 0.5
    assert pressure.level() == "warning"
    clock.now = HOLD_S + 1.5
    assert pressure.level() == "normal"


def test_stalls_are_kept_apart_from_what_the_system_judges() -> None:
    clock = Clock()
    pressure = Pressure(lambda: None, clock)
    pressure.on_stall("critical")
    clock.now = 1.0
    pressure.on_stall("warning")
    assert pressure.take_news()
    assert (pressure.level(), pressure.stalls()) == ("normal", "critical")
    clock.now = HOLD_S + 0.5
    assert pressure.stalls() == "warning"
    pressure.on_pressure("warning")
    clock.now = HOLD_S + 1.5
    assert (pressure.level(), pressure.stalls()) == ("warning", "normal")


def test_news_is_taken_once_and_from_any_thread() -> None:
    pressure = Pressure(lambda: None, Clock())
    assert not pressure.take_news()
    thread = threading.Thread(target=pressure.on_pressure, args=("warning",))
    thread.start()
    thread.join()
    assert pressure.take_news()
    assert not pressure.take_news()
    pressure.on_pressure("normal")
    assert not pressure.take_news()


@pytest.mark.skipif(sys.platform != "linux", reason="stalls are told by Linux")
def test_the_kernel_takes_our_triggers_and_closing_ends_the_thread() -> None:
    file = linux.pressure_file()
    if not os.access(file, os.W_OK):
        pytest.skip(f"{file} takes no triggers here")
    threads = threading.active_count()
    descriptors = len(os.listdir("/proc/self/fd"))
    triggers = StallTriggers(file, lambda level: None)
    assert threading.active_count() == threads + 1
    triggers.close()
    triggers.close()
    assert threading.active_count() == threads
    assert len(os.listdir("/proc/self/fd")) == descriptors


@pytest.mark.skipif(sys.platform != "linux", reason="stalls are told by Linux")
def test_without_triggers_pressure_is_polled_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linux, "pressure_file", lambda: tmp_path / "missing")
    assert open_source(Pressure()) is None
