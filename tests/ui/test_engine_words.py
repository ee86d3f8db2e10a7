"""The words and the light are facts about the engine."""

import pytest

from app.conversation import Activity, Failure
from app.engine_state import EngineDeath, EngineState
from app.ui.engine_words import condition, condition_of, pressure
from app.ui.theme import Role
from tests.ui.fakes import MODEL, loaded_state

DEATH = EngineDeath("The engine stopped.", "", 1, False, "")


@pytest.mark.parametrize(
    ("state", "text", "light"),
    [
        (EngineState(), "No model in memory", Role.TERTIARY),
        (EngineState("starting"), "Starting the engine", Role.TERTIARY),
        (EngineState("ending"), "Giving memory back", Role.TERTIARY),
        (EngineState("running", model="loading", load_fraction=0.37), "Loading 37 %", Role.ACCENT),
        (loaded_state(), "Ready", Role.READY),
        (loaded_state(answering="g"), "Answering", Role.READY),
        (EngineState(death=DEATH), "Engine stopped", Role.ERROR),
        (EngineState("starting", death=DEATH), "Starting the engine", Role.TERTIARY),
        (
            EngineState(load_failure=Failure("", "No.")),
            "The model could not be loaded",
            Role.WARNING,
        ),
    ],
)
def test_condition(state: EngineState, text: str, light: Role) -> None:
    assert (condition(state).text, condition(state).light) == (text, light)


@pytest.mark.parametrize(
    ("activity", "text"),
    [
        (Activity("reading", prompt_done=1200, prompt_total=3240), "Reading prompt 37 %"),
        (Activity("reading"), "Reading prompt"),
        (Activity("thinking"), "Thinking"),
        (Activity("answering"), "Answering"),
        (Activity("stopping"), "Stopping"),
    ],
)
def test_condition_while_answering(activity: Activity, text: str) -> None:
    assert condition(loaded_state(answering="g"), activity).text == text


def test_another_model_in_memory_is_not_this_ones_state() -> None:
    assert condition_of(MODEL, loaded_state()).text == "Ready"
    assert condition_of("/models/other.qpack", loaded_state()).text == "Loads at the first message"


@pytest.mark.parametrize(
    ("level", "light"),
    [("normal", Role.SECONDARY), ("warning", Role.WARNING), ("critical", Role.ERROR)],
)
def test_pressure(level: str, light: Role) -> None:
    state = loaded_state(pressure=level)
    assert pressure(state).light == light
