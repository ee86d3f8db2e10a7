"""An idle engine's memory is given back; the next question brings the model again."""

import os
from collections.abc import Callable
from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from app.engine_state import EngineState, ServingState
from app.idle_unload import IdleUnload
from app.workspace import Workspace
from tests.app.conftest import Heard, WaitFor

MINUTE_MS = 40


@pytest.fixture
def make(make_workspace: Callable[..., Workspace]) -> Callable[..., Workspace]:
    """A workspace in which a minute passes fast."""

    def made(script: dict[str, object] | None = None, **settings: object) -> Workspace:
        workspace = make_workspace(script, **{"unload_after_min": 1, **settings})
        workspace.idle_unload.close()
        workspace.idle_unload = IdleUnload(
            workspace.engine, workspace.answers, workspace.settings, MINUTE_MS
        )
        return workspace

    return made


def is_gone(pid: int | None) -> bool:
    try:
        os.kill(pid or 0, 0)
    except ProcessLookupError:
        return True
    return False


def test_the_clock_is_set_by_a_load_too(make: Callable[..., Workspace], wait_for: WaitFor) -> None:
    engine = make().engine
    states = Heard(engine.state_changed)
    engine.load("/models/fake")
    wait_for(lambda: engine.state.process == "stopped" and len(states) > 1)
    assert engine.state.death is None
    pids = [state.pid for state in states.told if state.pid]
    assert is_gone(pids[-1])


def test_a_question_brings_the_model_again(
    make: Callable[..., Workspace], wait_for: WaitFor
) -> None:
    workspace = make()
    states = Heard(workspace.engine.state_changed)
    chat = workspace.new_chat()
    ended = Heard(chat.answer_ended)
    chat.open_new()
    for count in (1, 2):
        chat.send("Hello?")
        wait_for(lambda count=count: len(ended) == count)
        wait_for(lambda: workspace.engine.state.process == "stopped")
    assert [answer.status for answer in ended.told] == ["complete", "complete"]
    assert len({state.pid for state in states.told if state.pid}) == 2


def test_a_long_answer_is_not_idleness(make: Callable[..., Workspace], wait_for: WaitFor) -> None:
    workspace = make({"answers": [{"text": ["a "] * 40, "delay_s": 0.01}]})
    chat = workspace.new_chat()
    ended = Heard(chat.answer_ended)
    chat.open_new()
    chat.send("Hello?")
    wait_for(lambda: ended.told)
    assert ended.last.status == "complete"


def test_who_wants_it_never_has_it_never(
    make: Callable[..., Workspace], wait_for: WaitFor, qtbot: QtBot
) -> None:
    workspace = make(unload_after_min=0)
    workspace.engine.load("/models/fake")
    wait_for(lambda: workspace.engine.state.stats)
    assert not workspace.idle_unload._clock.isActive()
    workspace.settings.update(unload_after_min=1)
    wait_for(lambda: workspace.engine.state.process == "stopped")


def test_it_stays_while_something_holds_it(
    make: Callable[..., Workspace], wait_for: WaitFor
) -> None:
    workspace = make()
    workspace.idle_unload.hold("server", held=True)
    workspace.engine.load("/models/fake")
    wait_for(lambda: workspace.engine.state.stats)
    assert not workspace.idle_unload._clock.isActive()
    workspace.idle_unload.hold("server", held=False)
    wait_for(lambda: workspace.engine.state.process == "stopped")


def test_other_kernels_are_loaded_with_the_next_question(
    make: Callable[..., Workspace], wait_for: WaitFor
) -> None:
    workspace = make(unload_after_min=0)
    engine = workspace.engine
    engine.load("/models/fake")
    wait_for(lambda: engine.state.kernels)
    assert engine.state.kernels is not None
    assert engine.state.kernels.kind == "native"
    workspace.settings.update(own_kernels=False)
    wait_for(lambda: engine.state.process == "stopped")
    engine.load("/models/fake")
    wait_for(lambda: engine.state.kernels)
    assert engine.state.kernels.kind == "plain"
    workspace.settings.update(own_kernels=True)
    wait_for(lambda: engine.state.process == "stopped")


def test_reads_are_checked_from_the_next_question_on(
    make: Callable[..., Workspace], wait_for: WaitFor
) -> None:
    workspace = make(unload_after_min=0)
    engine = workspace.engine
    engine.load("/models/fake")
    wait_for(lambda: engine.state.model == "loaded")
    assert not engine.state.check_reads
    workspace.settings.update(check_reads=True)
    wait_for(lambda: engine.state.process == "stopped")
    engine.load("/models/fake")
    wait_for(lambda: engine.state.model == "loaded")
    assert engine.state.check_reads


def test_a_process_that_only_planned_is_ended(
    make: Callable[..., Workspace], wait_for: WaitFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.idle_unload.SPARE_MS", 30)
    engine = make(unload_after_min=0).engine
    planned = Heard(engine.planned)
    engine.plan("/models/fake", 10**8)
    wait_for(lambda: planned.told and engine.state.process == "stopped")
    assert planned.last.ledger.total_bytes == 10**8
    assert engine.state.death is None


def test_a_process_that_serves_others_stays_without_a_model(
    make: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = make()
    engine, idle = workspace.engine, workspace.idle_unload
    serving = ServingState("http://127.0.0.1:8080/v1")
    monkeypatch.setattr(engine, "_state", EngineState("running", 1, serving=serving))
    assert idle._wait_ms() is None
    busy = replace(engine.state, model="loaded", serving=replace(serving, answering=True))
    monkeypatch.setattr(engine, "_state", busy)
    assert idle._wait_ms() is None
    monkeypatch.setattr(engine, "_state", replace(busy, serving=serving))
    assert idle._wait_ms() == MINUTE_MS
