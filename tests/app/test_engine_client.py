"""The client's state is what the process said; deaths are counted; what is over is dropped."""

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication

from app.engine_client import EngineClient
from app.engine_state import MOST_DEATHS, EngineState
from engine import protocol as wire
from engine.options import GenerationOptions
from tests.app.conftest import Heard, Script, WaitFor

HELLO = (wire.ChatMessage("user", "hi"),)
OPTIONS = GenerationOptions()


@pytest.fixture
def make_client(
    qapp: QCoreApplication, engine_command: Callable[[Script], list[str]]
) -> Iterator[Callable[..., EngineClient]]:
    made: list[EngineClient] = []

    def make(**script: Any) -> EngineClient:
        made.append(EngineClient(engine_command(script)))
        return made[-1]

    yield make
    for client in made:
        client.close()


def loaded(client: EngineClient, path: str = "/m/a") -> Callable[[], bool]:
    return lambda: client.state.model == "loaded" and client.state.model_path == path


def test_load_answer_unload(make_client: Callable[..., EngineClient], wait_for: WaitFor) -> None:
    client = make_client(answers=[{"reasoning": "hm ", "text": "Hello there"}])
    events, states = Heard(client.generation_event), Heard(client.state_changed)
    assert client.state == EngineState()
    client.load("/m/a")
    wait_for(loaded(client))
    assert client.state.process == "running"
    assert client.state.facts is not None
    assert client.state.plan is not None
    pid = client.state.pid
    client.generate("g", HELLO, OPTIONS)
    assert client.state.answering == "g"
    wait_for(lambda: events.told and isinstance(events.last[1], wire.Finished))
    assert client.state.answering is None
    text = "".join(e.text for _, e in events.told if isinstance(e, wire.Text))
    assert text == "Hello there"
    wait_for(lambda: client.state.stats)
    client.unload()
    assert client.state.process == "ending"
    wait_for(lambda: client.state == EngineState())
    with pytest.raises(ProcessLookupError):
        os.kill(pid or 0, 0)
    processes = [state.process for state in states.told]
    assert processes.index("starting") < processes.index("running") < processes.index("ending")


def test_another_model_comes_only_when_the_first_ones_memory_is_back(
    make_client: Callable[..., EngineClient], wait_for: WaitFor
) -> None:
    client = make_client()
    states = Heard(client.state_changed)
    client.load("/m/a")
    client.load("/m/a")
    wait_for(loaded(client))
    first = client.state.pid
    client.load("/m/a")
    assert client.state.process == "running"
    client.load("/m/b")
    client.load("/m/c")
    wait_for(loaded(client, "/m/c"))
    assert client.state.pid != first
    order = [state.process for state in states.told]
    assert order.index("ending") < order.index("stopped") < len(order) - 1
    assert not [state for state in states.told if state.model_path == "/m/b"]


def test_a_load_that_fails(make_client: Callable[..., EngineClient], wait_for: WaitFor) -> None:
    error = {"kind": "NotEnoughMemory", "message": "Too big.", "remedy": "Close apps."}
    client = make_client(load={"error": error})
    failed = Heard(client.load_failed)
    client.load("/m/a")
    wait_for(lambda: failed.told)
    assert (failed.last.kind, failed.last.remedy) == ("NotEnoughMemory", "Close apps.")
    assert client.state.load_failure == failed.last
    assert client.state.model == "none"


def test_cancel(make_client: Callable[..., EngineClient], wait_for: WaitFor) -> None:
    client = make_client(answers=[{"text": ["a"] * 10_000, "delay_s": 0.01}])
    events = Heard(client.generation_event)
    client.load("/m/a")
    wait_for(loaded(client))
    client.generate("g", HELLO, OPTIONS)
    wait_for(lambda: [e for _, e in events.told if isinstance(e, wire.Text)])
    client.cancel("another")
    client.cancel("g")
    wait_for(lambda: isinstance(events.last[1], wire.Finished))
    assert events.last[1].reason == "cancelled"


def test_a_death_is_told_with_what_was_said_before(
    make_client: Callable[..., EngineClient], wait_for: WaitFor
) -> None:
    client = make_client(answers=[{"text": "a b c", "crash_at": 2}])
    events, failed, died = (
        Heard(client.generation_event),
        Heard(client.generation_failed),
        Heard(client.died),
    )
    client.load("/m/a")
    wait_for(loaded(client))
    client.generate("g", HELLO, OPTIONS)
    wait_for(lambda: died.told)
    assert "".join(e.text for _, e in events.told if isinstance(e, wire.Text)) == "a b "
    assert (failed.last[0], failed.last[2]) == ("g", True)
    assert "SIGABRT" in died.last.message
    assert (died.last.in_a_row, died.last.gave_up) == (1, False)
    assert client.state == EngineState(death=died.last)


def test_three_deaths_in_a_row_stop_the_retrying(
    make_client: Callable[..., EngineClient], wait_for: WaitFor
) -> None:
    client = make_client(load={"crash": True})
    died = Heard(client.died)
    for count in range(1, MOST_DEATHS + 1):
        client.load("/m/a")
        wait_for(lambda count=count: len(died) == count)
    assert client.gave_up
    assert died.last.gave_up
    client.load("/m/a")
    assert client.state.process == "stopped"
    client.restart()
    assert not client.gave_up
    assert client.state.death is None
    wait_for(lambda: client.state.process == "running")


def test_a_finished_answer_forgives_the_deaths(
    make_client: Callable[..., EngineClient], wait_for: WaitFor
) -> None:
    client = make_client()
    died, events = Heard(client.died), Heard(client.generation_event)
    for _ in range(MOST_DEATHS + 1):
        client.load("/m/a")
        wait_for(loaded(client))
        client.generate("g", HELLO, OPTIONS)
        wait_for(lambda: client.state.answering is None)
        os.kill(client.state.pid or 0, signal.SIGKILL)
        wait_for(lambda: client.state.process == "stopped")
    assert {death.in_a_row for death in died.told} == {1}
    assert "most likely to free memory" in died.last.message
    assert events.told


def test_an_engine_that_cannot_be_started(qapp: QCoreApplication, wait_for: WaitFor) -> None:
    client = EngineClient(["/nowhere/engine"])
    died = Heard(client.died)
    client.load("/m/a")
    wait_for(lambda: died.told)
    assert "could not be started" in died.last.message
    client.close()


def test_the_last_resort_counts_as_asked_for(
    make_client: Callable[..., EngineClient], wait_for: WaitFor
) -> None:
    client = make_client(answers=[{"text": "a", "stall_at": 0}])
    failed, died = Heard(client.generation_failed), Heard(client.died)
    client.load("/m/a")
    wait_for(loaded(client))
    client.generate("g", HELLO, OPTIONS)
    client.kill()
    wait_for(lambda: failed.told)
    assert failed.last[1].message == "The engine was stopped."
    assert not died.told


def test_errors_and_bugs(make_client: Callable[..., EngineClient], wait_for: WaitFor) -> None:
    error = {"kind": "ContextFull", "message": "Too long.", "remedy": "Shorten it."}
    client = make_client(
        answers=[{"text": "a", "error_at": 0, "error": error}, {"text": "a", "bug_at": 0}]
    )
    failed, bugs = Heard(client.generation_failed), Heard(client.bug_found)
    client.load("/m/a")
    wait_for(loaded(client))
    client.generate("1", HELLO, OPTIONS)
    wait_for(lambda: len(failed) == 1)
    assert (failed.last[1].kind, failed.last[2]) == ("ContextFull", False)
    client.generate("2", HELLO, OPTIONS)
    wait_for(lambda: len(failed) == 2)
    assert failed.last[1].kind == "Bug"
    assert "a scripted bug" in bugs.last
    assert client.state.process == "running"


def test_counts_and_memory(make_client: Callable[..., EngineClient], wait_for: WaitFor) -> None:
    client = make_client(memory=[{"level": "warning", "message": "Gave back 1 GB."}])
    counted, notes, samples = (
        Heard(client.tokens_counted),
        Heard(client.memory_changed),
        Heard(client.stats_sampled),
    )
    client.count_tokens("nobody answers", HELLO)
    client.load("/m/a")
    wait_for(loaded(client))
    client.count_tokens("c", HELLO)
    client.resize(10**9)
    wait_for(lambda: counted.told and len(notes) == 2 and samples.told)
    assert counted.last == ("c", 1)
    assert {note.message for note in notes.told} == {"Gave back 1 GB.", "Resized."}
    assert client.state.plan is not None
    assert client.state.plan.budget_bytes == 10**9


def test_an_answer_that_stands_still_is_told_to_go_on(
    make_client: Callable[..., EngineClient], wait_for: WaitFor
) -> None:
    client = make_client(paused="Memory is critically short.")
    events = Heard(client.generation_event)
    client.load("/m/a")
    wait_for(loaded(client))
    client.generate("g", HELLO, OPTIONS)
    wait_for(lambda: client.state.stats and client.state.stats.paused)
    client.go_on()
    wait_for(lambda: events.told and isinstance(events.last[1], wire.Finished))


def test_a_model_whose_files_are_other_ones_is_unloaded(
    make_client: Callable[..., EngineClient], wait_for: WaitFor
) -> None:
    client = make_client(storage=[[True, "The disk is back."], [False, "The files changed."]])
    notes = Heard(client.storage_changed)
    client.load("/m/a")
    wait_for(lambda: len(notes) == 2 and client.state.process == "stopped")
    assert [note.usable for note in notes.told] == [True, False]
    assert client.state.death is None
    client.load("/m/a")
    wait_for(lambda: client.state.process == "running")


def test_nothing_is_told_after_close(
    make_client: Callable[..., EngineClient], wait_for: WaitFor, qapp: QCoreApplication
) -> None:
    client = make_client()
    client.load("/m/a")
    wait_for(loaded(client))
    pid = client.state.pid
    states, died = Heard(client.state_changed), Heard(client.died)
    client.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid or 0, 0)
    qapp.processEvents()
    assert not states.told
    assert not died.told


def test_events_of_a_former_life_are_dropped(
    make_client: Callable[..., EngineClient], wait_for: WaitFor
) -> None:
    client = make_client(answers=[{"text": ["a"] * 1000, "delay_s": 0.001}])
    events = Heard(client.generation_event)
    client.load("/m/a")
    wait_for(loaded(client))
    client.generate("1", HELLO, OPTIONS)
    client.kill()
    wait_for(lambda: client.state.process == "stopped")
    client.load("/m/a")
    wait_for(loaded(client))
    count = len(events)
    client.generate("2", HELLO, OPTIONS)
    wait_for(lambda: events.told and isinstance(events.last[1], wire.Finished))
    assert {id for id, _ in events.told[count:]} == {"2"}
