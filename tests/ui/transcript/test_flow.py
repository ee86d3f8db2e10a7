"""Flow: words are gathered, in order, and shown less often when showing them is slow."""

from time import perf_counter

import pytest
from pytestqt.qtbot import QtBot

from app.conversation import AnswerDelta
from app.ui.transcript import flow as flow_module
from app.ui.transcript.flow import FLUSH_MS, SLOWEST_MS, Flow


def delta(text: str, message_id: str = "a1", reasoning: str = "") -> AnswerDelta:
    return AnswerDelta("c1", message_id, "g1", reasoning=reasoning, text=text)


def test_what_arrives_together_is_shown_together(qtbot: QtBot) -> None:
    shown: list[AnswerDelta] = []
    flow = Flow(shown.append)
    for part in ("a", "b", "c"):
        flow.push(delta(part))
    flow.push(delta("", reasoning="r"))
    flow.push(delta("other", "a2"))
    assert shown == []
    qtbot.waitUntil(lambda: flow.is_empty)
    assert shown == [delta("abc", reasoning="r"), delta("other", "a2")]


def test_what_was_dropped_is_not_shown(qtbot: QtBot) -> None:
    shown: list[AnswerDelta] = []
    flow = Flow(shown.append)
    flow.push(delta("old"))
    flow.drop()
    flow.flush()
    assert shown == []


def test_slow_showing_widens_the_interval(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.040, 1.0, 3.0, 5.0, 5.001])
    monkeypatch.setattr(flow_module, "perf_counter", lambda: next(clock))
    flow = Flow(lambda delta: None)
    intervals = []
    for _ in range(3):
        flow.push(delta("x"))
        flow.flush()
        intervals.append(flow.interval_ms)
    assert intervals == [120, SLOWEST_MS, FLUSH_MS]
    monkeypatch.setattr(flow_module, "perf_counter", perf_counter)
