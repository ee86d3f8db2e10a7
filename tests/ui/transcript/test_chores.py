"""Chores: in order, a slice at a time, each once."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.ui.transcript import chores as chores_module
from app.ui.transcript.chores import Chores


@pytest.fixture
def chores(qtbot: QtBot) -> Iterator[Chores]:
    parent = QObject()
    yield Chores(parent)  # noqa: PT022 - keeps its parent alive


def test_they_are_done_in_order_and_each_once(qtbot: QtBot, chores: Chores) -> None:
    done: list[str] = []
    for name in ("a", "b", "a", "c"):
        chores.add(name, lambda name=name: done.append(name))
    assert done == []
    qtbot.waitUntil(lambda: chores.is_done)
    assert done == ["a", "b", "c"]


def test_a_slice_ends_when_its_time_is_over(
    qtbot: QtBot, chores: Chores, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr(chores_module, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(chores_module, "SLICE_S", 2)
    done: list[int] = []
    for number in range(3):
        chores.add(number, lambda number=number: done.append(number))
    chores._work()
    assert done == [0]
    qtbot.waitUntil(lambda: chores.is_done)
    assert done == [0, 1, 2]


def test_a_chore_may_ask_for_another(qtbot: QtBot, chores: Chores) -> None:
    done: list[str] = []
    chores.add("a", lambda: chores.add("b", lambda: done.append("b")))
    qtbot.waitUntil(lambda: chores.is_done and bool(done))
    assert done == ["b"]
