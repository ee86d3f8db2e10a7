"""The model names conversations when idle, never over a name by hand, never in anybody's way."""

from collections.abc import Callable

import pytest

from app import title_writer
from app.conversation import Message
from app.title_writer import clean_title, title_prompt
from app.workspace import Workspace
from tests.app.conftest import Script, WaitFor

Make = Callable[..., Workspace]
NAMING = "Name the following"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(title_writer, "IDLE_MS", 20)


def start(make_workspace: Make, name: Script) -> Workspace:
    answers = [{**name, "match": NAMING}, {"match": "hi", "reasoning": "secret", "text": "Hello"}]
    workspace = make_workspace({"answers": answers})
    workspace.settings.update(titles_by_model=True)
    return workspace


def titles(workspace: Workspace) -> list[str]:
    return [conversation.title for conversation in workspace.library.library.conversations]


def test_a_name_comes_when_nothing_else_is_to_do(make_workspace: Make, wait_for: WaitFor) -> None:
    workspace = start(make_workspace, {"text": '**"A Greeting."**\n\nHope this helps'})
    chat = workspace.new_chat()
    chat.open_new()
    chat.send("hi")
    wait_for(lambda: titles(workspace) == ["A Greeting"])
    assert chat.conversation.title_source == "model"
    assert workspace.engine.state.answering is None


def test_a_name_by_hand_stays(make_workspace: Make, wait_for: WaitFor) -> None:
    workspace = start(make_workspace, {"text": ["No"], "delay_s": 0.3})
    chat = workspace.new_chat()
    chat.open_new()
    chat.send("hi")
    wait_for(lambda: workspace.answers.is_idle and workspace.engine.state.answering)
    workspace.library.rename(chat.conversation.id, "Mine")
    wait_for(lambda: workspace.engine.state.answering is None)
    wait_for(lambda: titles(workspace) == ["Mine"])


def test_a_question_goes_before_a_name(make_workspace: Make, wait_for: WaitFor) -> None:
    workspace = start(make_workspace, {"text": ["A ", "Name "] * 500, "delay_s": 0.02})
    chat = workspace.new_chat()
    chat.open_new()
    chat.send("hi")
    wait_for(lambda: workspace.answers.is_idle and workspace.engine.state.answering)
    chat.send("hi again")
    wait_for(lambda: len(chat.messages) == 4 and chat.messages[-1].settled)
    assert chat.messages[-1].text == "Hello"
    assert titles(workspace) == ["hi"]


def test_no_names_when_the_person_wants_none(make_workspace: Make, wait_for: WaitFor) -> None:
    workspace = start(make_workspace, {"text": "A Name"})
    workspace.settings.update(titles_by_model=False)
    chat = workspace.new_chat()
    chat.open_new()
    chat.send("hi")
    wait_for(lambda: chat.messages and chat.messages[-1].settled)
    workspace.settings.update(titles_by_model=True)
    chat.send("hi")
    wait_for(lambda: titles(workspace) == ["A Name"])


def test_the_prompt_holds_no_reasoning() -> None:
    branch = (
        Message("u", "c", None, "user", "x" * 5000),
        Message("a", "c", "u", "assistant", "Hello", reasoning="secret"),
    )
    (message,) = title_prompt(branch)
    assert "secret" not in message.content
    assert "Hello" in message.content
    assert len(message.content) < 2000


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("Sieve of Eratosthenes", "Sieve of Eratosthenes"),
        ("\n  Title: **Dinner for six**.\nmore", "Dinner for six"),
        ("„Drei Tage in Kyoto“", "Drei Tage in Kyoto"),
        ("# `code`", "code"),
        ("", ""),
        ("word " * 40, "word word word word word word word word word word word word…"),
    ],
)
def test_names_are_cleaned(said: str, title: str) -> None:
    assert clean_title(said) == title
