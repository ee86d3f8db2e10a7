"""A hosted model's conversations: kept while a person reads, found again, forgotten when asked."""

import threading
from pathlib import Path

import pytest

from engine import hosted_model, snapshot_folder
from engine import protocol as wire
from engine.container.library import built_in_model
from engine.events import Finished
from engine.hosted_model import HostedModel, load_hosted
from engine.options import GenerationOptions

GREEDY = GenerationOptions(temperature=0, max_tokens=8)
HELLO = (wire.ChatMessage("user", "Hello. What is a lighthouse?"),)


def load(folder: Path | None) -> HostedModel:
    kept = str(folder) if folder else None
    command = wire.Load(str(built_in_model()), slots=16, snapshots_folder=kept)
    return load_hosted(command, lambda phase, share: None)


def ask(model: HostedModel, conversation: str) -> Finished:
    *_, finished = model.stream(HELLO, GREEDY, threading.Event(), conversation)
    assert isinstance(finished, Finished)
    return finished


def test_a_restart_goes_on_and_a_forgotten_conversation_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosted_model, "SHELVE_AFTER_S", 0.0)
    model = load(tmp_path)
    first = ask(model, "a")
    assert snapshot_folder.shelved(tmp_path) == []  # not while it answers
    model.tend()
    assert len(snapshot_folder.shelved(tmp_path)) == 1
    ask(model, "")  # another program's: no name, so nothing on the disk
    model.close()
    kept = snapshot_folder.shelved(tmp_path)
    assert {file.conversation for file in kept} == {snapshot_folder.tag("a")}

    again = load(tmp_path)
    finished = ask(again, "a")
    assert finished.tokens == first.tokens
    assert finished.stats.prompt_tokens - finished.stats.cached_tokens < 8
    again.forget(["a"])
    assert snapshot_folder.shelved(tmp_path) == []
    assert ask(again, "a").stats.cached_tokens == 0
    again.forget(["a"])
    again.close()
    assert snapshot_folder.shelved(tmp_path) == []


def test_without_a_folder_nothing_is_written(tmp_path: Path) -> None:
    model = load(None)
    ask(model, "a")
    model.tend()
    model.close()
    assert list(tmp_path.iterdir()) == []
