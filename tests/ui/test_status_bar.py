"""The status bar is one line, and true."""

from dataclasses import replace

import pytest
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.conversation import Activity
from app.engine_state import EngineState, ServingState, ThermalState
from app.ui.status_bar import StatusBar
from app.ui.theme import Role
from tests.ui.fakes import loaded_state


@pytest.fixture
def bar(qtbot: QtBot) -> StatusBar:
    made = StatusBar()
    qtbot.addWidget(made)
    made.resize(1000, 28)
    return made


def test_without_a_model_there_are_no_figures(bar: StatusBar) -> None:
    assert bar.line() == "No model in memory · Memory pressure: normal"


def test_while_answering_it_has_them_all(bar: StatusBar) -> None:
    bar.show_state(loaded_state(answering="g"), Activity("thinking"))
    assert bar.line() == (
        "Thinking · 2.6 GB · expert pool 900 MB · hits 71 % · 2.9 GB/s · Memory pressure: normal"
    )


def test_idle_model_has_no_rates(bar: StatusBar) -> None:
    bar.show_state(loaded_state())
    assert bar.line() == "Ready · 2.6 GB · expert pool 900 MB · Memory pressure: normal"


def test_narrow_window_leaves_the_pool_out(qtbot: QtBot, bar: StatusBar) -> None:
    bar.show()
    bar.show_state(loaded_state())
    bar.resize(600, 28)
    assert bar.line() == "Ready · 2.6 GB · Memory pressure: normal"
    bar.resize(1000, 28)
    assert "expert pool 900 MB" in bar.line()


def test_what_it_says_never_makes_a_window_wider(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    bar = StatusBar()
    column.addWidget(bar)
    window.resize(540, 100)
    window.show()
    bar.show_state(loaded_state(answering="g", pressure="critical"), Activity("stopping"))
    QApplication.processEvents()
    assert window.width() == 540
    assert bar.line() == "Stopping · 2.6 GB · Memory pressure: critical"


def test_figures_go_when_the_engine_does(bar: StatusBar) -> None:
    bar.show_state(loaded_state(answering="g"))
    bar.show_state(EngineState())
    assert bar.line() == "No model in memory · Memory pressure: normal"


def test_nothing_moves_while_figures_change(bar: StatusBar) -> None:
    bar.show_state(loaded_state(answering="g"))
    features = {str(tag.toString().data(), "ascii") for tag in bar._hits.font().featureTags()}
    assert features == {"tnum"}


def hot(thermal: ThermalState = "nominal", *, low_power: bool = False) -> EngineState:
    stats = loaded_state().stats
    assert stats is not None
    return loaded_state(stats=replace(stats, thermal=thermal, low_power=low_power))


def test_heat_has_a_badge_with_its_reason(bar: StatusBar) -> None:
    bar.show_state(hot("serious", low_power=True))
    assert "· Hot ·" in bar.line()
    assert "smaller steps" in bar._badge.accessibleDescription()
    assert bar._badge.accessibleDescription() in bar._badge.toolTip()
    bar.show_state(hot("critical"))
    assert "· Too hot ·" in bar.line()


def test_badge_goes_when_it_has_cooled(bar: StatusBar) -> None:
    bar.show_state(hot("serious"))
    bar.show_state(hot("fair"))
    assert bar.line() == "Ready · 2.6 GB · expert pool 900 MB · Memory pressure: normal"


def test_saving_power_is_said_quietly(bar: StatusBar) -> None:
    bar.show_state(hot(low_power=True))
    assert "· Low power ·" in bar.line()


def test_light_of_the_local_server(bar: StatusBar) -> None:
    assert bar._server.isHidden()
    bar.show_state(loaded_state(serving=ServingState("http://127.0.0.1:8080/v1")))
    assert not bar._server.isHidden()
    assert "127.0.0.1:8080" in bar._server.accessibleName()
    assert bar._server._light._role == Role.TERTIARY
    bar.show_state(loaded_state(serving=ServingState("http://127.0.0.1:8080/v1", answering=True)))
    assert bar._server._light._role == Role.READY
    assert bar.line().startswith("Answering another program · ")
    assert "hits 71 %" in bar.line()
    bar.show_state(loaded_state())
    assert bar._server.isHidden()


def test_own_question_waits_for_a_program(bar: StatusBar) -> None:
    serving = ServingState("http://127.0.0.1:8080/v1", answering=True)
    bar.show_state(loaded_state(answering="g", serving=serving), Activity("reading"))
    assert bar.line().startswith("Waiting: another program is being answered")
