"""Typesetter: asks its process and remembers; nothing waits for it, and its death costs nothing."""

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.blocks.drawing import Ink
from app.blocks.typesetter import MOST_DEATHS, Typesetter

SLOW_MS = 60_000  # the process may take seconds to start on a busy machine


@pytest.fixture
def typesetter(qtbot: QtBot) -> Iterator[Typesetter]:
    typesetter = Typesetter()
    yield typesetter
    typesetter.close()


def test_formula_comes_later_and_is_remembered(qtbot: QtBot, typesetter: Typesetter) -> None:
    assert typesetter.formula("x^2", display=False) is None
    assert typesetter.waits_for("x^2", display=False)
    qtbot.waitUntil(lambda: not typesetter.waits_for("x^2", display=False), timeout=SLOW_MS)
    formula = typesetter.formula("x^2", display=False)
    assert formula is not None
    assert formula.width > 0


def test_bad_formula_is_settled_and_the_next_one_works(
    qtbot: QtBot, typesetter: Typesetter
) -> None:
    for latex in (r"\frac{", r"\undefined", "y"):
        typesetter.formula(latex, display=True)
    qtbot.waitUntil(lambda: not typesetter.waits_for("y", display=True), timeout=SLOW_MS)
    assert typesetter.formula(r"\frac{", display=True) is None
    assert not typesetter.waits_for(r"\frac{", display=True)
    assert typesetter.formula("y", display=True) is not None


def test_code_is_coloured_piece_by_piece(qtbot: QtBot, typesetter: Typesetter) -> None:
    inked = typesetter.ink("x = 1  # one\n" * 250, "python")
    assert inked.lines == []
    counts: list[int] = []
    typesetter.ink_grew.connect(lambda some: counts.append(len(some.lines)))
    qtbot.waitUntil(lambda: inked.complete, timeout=SLOW_MS)
    assert len(inked.lines) >= 250
    assert inked.lines[249][-1][2] == Ink.COMMENT
    assert counts[0] == 100
    assert typesetter.ink("x = 1  # one\n" * 250, "python") is inked


def test_a_killed_process_gives_up_what_was_asked_and_comes_back(
    qtbot: QtBot, typesetter: Typesetter
) -> None:
    inked = typesetter.ink("x = 1\n" * 9000, "python")
    process = typesetter._process
    assert process is not None
    process.kill()
    qtbot.waitUntil(lambda: inked.complete, timeout=SLOW_MS)
    assert not typesetter.waits_for("x", display=False)
    typesetter.formula("x", display=False)
    qtbot.waitUntil(lambda: not typesetter.waits_for("x", display=False), timeout=SLOW_MS)
    assert typesetter.formula("x", display=False) is not None


def test_a_process_that_cannot_start_is_not_tried_for_ever(
    qtbot: QtBot, typesetter: Typesetter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.blocks.typesetter.sys.executable", "/no/such/python")
    for number in range(MOST_DEATHS + 1):
        typesetter.formula(f"x_{number}", display=False)
        qtbot.waitUntil(lambda: not typesetter._asked, timeout=SLOW_MS)
    assert typesetter._process is None
    assert not typesetter.waits_for(f"x_{MOST_DEATHS}", display=False)


def test_closing_leaves_no_process(qtbot: QtBot, typesetter: Typesetter) -> None:
    typesetter.formula("x", display=False)
    process = typesetter._process
    assert process is not None
    assert process.waitForStarted(SLOW_MS)
    typesetter.close()
    assert process.state() == process.ProcessState.NotRunning
