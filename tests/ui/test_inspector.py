"""The inspector draws what was reported, and nothing else."""

from dataclasses import replace

import pytest
from PySide6.QtGui import QColor, QImage
from pytestqt.qtbot import QtBot

from app.engine_state import EngineState, EngineStats
from app.ui.inspector import MOMENTS, Inspector, memory_parts
from app.ui.plots import BarPlot, LinePlot, Plot, ShareBar, StackPlot
from app.ui.theme import Role, color
from tests.ui.fakes import GB, loaded_state


@pytest.fixture
def inspector(qtbot: QtBot) -> Inspector:
    made = Inspector()
    qtbot.addWidget(made)
    return made


def said(inspector: Inspector) -> dict[str, str]:
    return {key: label.text() for key, label in inspector._figures.items()}


def test_unknown_figures_are_dashes(inspector: Inspector) -> None:
    assert said(inspector) == dict.fromkeys(("memory", "hits", "time", "disk"), "–")


def test_figures_are_the_latest_report(inspector: Inspector) -> None:
    inspector.show_state(loaded_state(answering="g"))
    assert said(inspector) == {
        "memory": "2.6 of 3.0 GB",
        "hits": "71 %",
        "time": "85 ms",
        "disk": "2.9 GB/s",
    }


def test_one_report_is_one_point_however_often_it_is_told(inspector: Inspector) -> None:
    state = loaded_state(answering="g")
    for _ in range(5):
        inspector.show_state(state)
    assert len(inspector._history) == 1


def test_history_is_bounded_and_starts_anew_with_another_model(inspector: Inspector) -> None:
    state = loaded_state(answering="g")
    for count in range(MOMENTS + 30):
        stats = EngineStats(2 * GB, 0.5, GB, 80.0 + count, 20.0)
        inspector.show_state(replace(state, stats=stats))
    assert len(inspector._history) == MOMENTS
    inspector.show_state(EngineState())
    assert len(inspector._history) == 0


@pytest.mark.parametrize(
    ("used", "parts"),
    [
        (int(2.6 * GB), (int(1.4 * GB), int(0.9 * GB), int(0.3 * GB))),
        (GB, (GB, 0, 0)),
        (0, (0, 0, 0)),
    ],
)
def test_memory_parts_add_up_to_what_is_used(used: int, parts: tuple[int, int, int]) -> None:
    found = memory_parts(loaded_state(), used)
    assert sum(found) == used
    assert found == pytest.approx(parts, abs=2)


def picture(qtbot: QtBot, plot: Plot | ShareBar) -> QImage:
    qtbot.addWidget(plot)
    plot.resize(200, plot.sizeHint().height() if isinstance(plot, ShareBar) else plot.height())
    return plot.grab().toImage()


def near(image: QImage, x: float, y: float, role: Role) -> bool:
    found = image.pixelColor(int(image.width() * x), int(image.height() * y))
    wanted: QColor = color(role)
    parts = ("red", "green", "blue")
    return all(abs(getattr(found, p)() - getattr(wanted, p)()) < 8 for p in parts)


def test_stack_plot_stacks_from_the_bottom(qtbot: QtBot) -> None:
    plot = StackPlot("Memory", (Role.CORE, Role.EXPERTS))
    plot.show_points([(1.0, 1.0), (1.0, 1.0)], 4.0)
    image = picture(qtbot, plot)
    assert near(image, 0.5, 0.95, Role.CORE)
    assert near(image, 0.5, 0.65, Role.EXPERTS)
    assert near(image, 0.5, 0.4, Role.CODE)


def test_bars_stand_at_the_right(qtbot: QtBot) -> None:
    plot = BarPlot("Time", (Role.CORE, Role.DISK))
    plot.show_points([(70.0, 30.0)])
    image = picture(qtbot, plot)
    assert near(image, 0.955, 0.9, Role.CORE)
    assert near(image, 0.955, 0.25, Role.DISK)
    assert near(image, 0.3, 0.9, Role.CODE)


@pytest.mark.parametrize("points", [[], [0.5]])
def test_plots_bear_few_points(qtbot: QtBot, points: list[float]) -> None:
    line = LinePlot("Hits", Role.EXPERTS)
    line.show_points(points)
    stack = StackPlot("Memory", (Role.CORE,))
    stack.show_points([(p,) for p in points], 0)
    assert not picture(qtbot, line).isNull()
    assert not picture(qtbot, stack).isNull()


def test_share_bar_shows_what_is_free(qtbot: QtBot) -> None:
    bar = ShareBar("Memory", (Role.CORE, Role.EXPERTS))
    bar.show_shares((50, 25), 100)
    image = picture(qtbot, bar)
    assert near(image, 0.25, 0.5, Role.CORE)
    assert near(image, 0.6, 0.5, Role.EXPERTS)
    assert near(image, 0.9, 0.5, Role.FREE)
