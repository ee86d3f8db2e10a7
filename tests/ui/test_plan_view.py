"""A plan is a bar, the amounts of its parts, and what follows in words."""

from dataclasses import replace

import pytest
from PySide6.QtGui import QPalette
from pytestqt.qtbot import QtBot

from app.ui import theme
from app.ui.settings.plan_view import BAR_HEIGHT, PlanView
from app.ui.theme import Role
from tests.ui.fakes import GB, planned


@pytest.fixture
def view(qtbot: QtBot) -> PlanView:
    made = PlanView()
    qtbot.addWidget(made)
    made.resize(600, 120)
    made.show()
    return made


def colors(view: PlanView) -> list[str]:
    """The colours of the bar from left to right, each once."""
    image = view._bar.grab().toImage()
    row = [image.pixelColor(x, BAR_HEIGHT // 2).name() for x in range(4, image.width() - 4)]
    return [c for c, before in zip(row, ["", *row], strict=False) if c != before]


def name(role: Role) -> str:
    return theme.color(role).name()


def test_every_part_has_its_amount(view: PlanView) -> None:
    view.show_planned(planned())
    assert [label.text() for label in view._amounts] == [
        "Core 1.4 GB",
        "Experts 900 MB",
        "Conversation 200 MB",
        "Staging 60 MB",
        "Scratch 300 MB",
        "Runtime 140 MB",
    ]
    assert "Experts 900 MB" in view._bar.accessibleDescription()


def test_bar_shows_all_parts_and_what_stays_free(view: PlanView, palette: QPalette) -> None:
    view.show_planned(planned())
    shown = colors(view)
    roles = (Role.CORE, Role.EXPERTS, Role.CONVERSATION, Role.STAGING, Role.SCRATCH, Role.RUNTIME)
    places = [shown.index(name(role)) for role in (*roles, Role.FREE)]
    assert places == sorted(places)
    assert name(Role.ERROR) not in shown


def test_what_does_not_fit_is_refused_with_the_remedy(view: PlanView) -> None:
    view.show_planned(
        planned(
            free_bytes=2 * GB,
            message="This plan takes 3.0 GB of memory; 2.0 GB are free.",
            remedy="Close other apps, or choose a smaller model.",
        )
    )
    assert view._words.text() == (
        "This plan takes 3.0 GB of memory; 2.0 GB are free."
        " Close other apps, or choose a smaller model."
    )
    assert name(Role.ERROR) in colors(view), "the line where what is free ends"


def test_a_broken_model_has_no_bar(view: PlanView) -> None:
    broken = replace(planned(), ledger=None, message="There is no folder at /m.", remedy="")
    view.show_planned(broken)
    assert view._bar.isHidden()
    assert view._words.text() == "There is no folder at /m."


def test_before_it_is_known_it_says_so(view: PlanView) -> None:
    view.show_planned(planned())
    view.show_planned(None)
    assert view._bar.isHidden()
    assert view._words.text() == "Looking at the model…"
