"""Counting costs nothing at every key, and says when it only guesses."""

from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QObject, Signal

from app.conversation import Message
from app.engine_state import EngineState
from app.token_counter import TokenCounter, estimate
from tests.app.conftest import Heard, WaitFor


class CountingEngine(QObject):
    """Keeps what it was asked; answers when told to."""

    tokens_counted = Signal(str, int)

    def __init__(self) -> None:
        super().__init__()
        self.state = EngineState()
        self.asked: list[tuple[str, Any]] = []

    def count_tokens(self, id: str, messages: Any) -> None:
        self.asked.append((id, messages))


@pytest.fixture
def engine(qapp: QCoreApplication) -> CountingEngine:
    return CountingEngine()


BRANCH = (
    Message("u", "c", None, "user", "one two"),
    Message("a", "c", "u", "assistant", "three"),
)


def test_the_branch_is_counted_once(engine: CountingEngine, wait_for: WaitFor) -> None:
    counter = TokenCounter(engine, engine)
    heard = Heard(counter.counted)
    counter.count("", BRANCH, "a", ())
    counter.count("", BRANCH, "a draft", ())
    wait_for(lambda: len(engine.asked) == 2)
    for (id, _), count in zip(engine.asked, (30, 2), strict=True):
        engine.tokens_counted.emit(id, count)
    assert (heard.last.draft, heard.last.used, heard.last.exact) == (2, 32, True)
    counter.count("", BRANCH, "a longer draft", ())
    assert not heard.last.exact
    wait_for(lambda: len(engine.asked) == 3)
    assert engine.asked[2][1][0].content == "a longer draft"
    counter.count("system", BRANCH, "a longer draft", ())
    wait_for(lambda: len(engine.asked) > 3)
    assert len(engine.asked[3][1]) == 3


def test_answers_to_older_questions_are_dropped(engine: CountingEngine, wait_for: WaitFor) -> None:
    counter = TokenCounter(engine, engine)
    heard = Heard(counter.counted)
    counter.count("", (), "draft", ())
    wait_for(lambda: engine.asked)
    engine.tokens_counted.emit("another's", 1000)
    assert heard.last.used < 1000


def test_what_grows_is_estimated(engine: CountingEngine, wait_for: WaitFor) -> None:
    counter = TokenCounter(engine, engine)
    heard = Heard(counter.counted)
    growing = Message("a", "c", "u", "assistant", "x" * 400, status="streaming")
    counter.count("", (BRANCH[0], growing), "", ())
    wait_for(lambda: engine.asked)
    ((id, messages),) = engine.asked
    assert len(messages) == 1
    engine.tokens_counted.emit(id, 10)
    assert (heard.last.used, heard.last.exact) == (110, False)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [("", 0, 0), ("word " * 100, 100, 150), ("漢字" * 50, 50, 100), ("é" * 100, 40, 60)],
)
def test_estimates_are_near(text: str, least: int, most: int) -> None:
    assert least <= estimate(text) <= most
