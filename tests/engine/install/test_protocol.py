"""The process's messages: both ways for every one, and nothing guessed."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.container.catalogue import load_catalogue
from engine.install import protocol as wire
from engine.install.patience import Patience
from engine.protocol import BadLine

SHAPE = load_catalogue().models[0].shape
COMMANDS: list[wire.Command] = [
    wire.Start("acme/Tiny", "/models/tiny"),
    wire.Start("a/b", "/x", "v2", "hf_secret", anyway=True, repair=True, patience=Patience(3, 0.5)),
    wire.Pause(),
    wire.Cancel(),
    wire.Search("qwen", "hf_secret", 5),
    wire.LookUp("acme/Tiny", "v2", None),
]
EVENTS: list[wire.Event] = [
    wire.Ready(7, "0.1.0"),
    wire.Begun("/models/tiny", "acme/Tiny", "container", "c0ffee", "huggingface.co", 10, 3),
    wire.Progress("downloading", 1, 2, 3.5, None),
    wire.Progress("verifying", 1, 2, 0.0, 8.0),
    wire.Waiting("It has trouble.", 2.0, 1, 10),
    wire.Notice("x arrived damaged"),
    wire.Joined(7),
    wire.Done("/models/tiny", 10),
    wire.Paused("disk", "“T7” is full.", "Free 3 GB.", "T7", 3),
    wire.Discarded(10),
    wire.Failed("TokenNeeded", "It needs one.", "Give it.", "https://huggingface.co/acme/Tiny"),
    wire.Bug("Traceback"),
    wire.Found("tiny", (wire.Listing("acme/Tiny", "container", 1, 2, True, "mit"),)),
    wire.Offer("a/b", "a/b", "checkpoint", "", "qwen3_next", 4, 10, 512, "mit", SHAPE),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_come_as_they_went(command: wire.Command) -> None:
    line = wire.encode(command)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert wire.decode_command(line) == command


@pytest.mark.parametrize("event", EVENTS)
def test_events_come_as_they_went(event: wire.Event) -> None:
    assert wire.decode_event(wire.encode(event)) == event


def test_every_message_is_tried_here() -> None:
    assert {type(command).__name__ for command in COMMANDS} == wire.COMMANDS.keys()
    assert {type(event).__name__ for event in EVENTS} == wire.EVENTS.keys()


@given(st.one_of(st.binary(), st.text().map(lambda text: json.dumps(text).encode())))
@settings(deadline=None)
def test_garbage_is_refused(line: bytes) -> None:
    with pytest.raises(BadLine):
        wire.decode_command(line)


@pytest.mark.parametrize(
    "line",
    [b'{"type":"Start"}', b'{"type":"Nothing"}', b"{}", b"[]", b'{"type":["Start"]}',
     b'{"type":"Start","source":"a/b","target":"/x","token":5}',
     b'{"type":"Start","source":"a/b","target":"/x","token":"hf_secret","more":1}'],
)  # fmt: skip
def test_what_is_not_a_message_is_refused_without_being_quoted(line: bytes) -> None:
    with pytest.raises(BadLine) as error:
        wire.decode_command(line)
    assert "hf_secret" not in str(error.value)
