"""Both ends understand each other, and no hostile line does anything but raise BadLine."""

import contextlib
import io
import json
import subprocess
import sys
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import protocol as wire
from engine.errors import BadOption
from engine.events import AnswerStats
from engine.options import GenerationOptions

FACTS = wire.ModelFacts("m", "/m", "qwen3_next", 4096, 4, 8, 2, True)
PLAN = wire.MemoryPlan(5, 1, 1, 1, 1, 2)
LEDGER = wire.Ledger(1, 2, 3, 4, 5, 6, 7, 8)
SHADERS = (wire.ShaderReport("moe", True), wire.ShaderReport("router", False, "r"))
KERNELS = wire.KernelReport("metal", "gpu", "bfloat16", SHADERS)
STATS = AnswerStats(1, 0, 2, 0.5, 3.0, 4.0, 0.5, 6, 0.25, 7)
MESSAGES = (
    wire.ChatMessage("system", "s"),
    wire.ChatMessage("user", "h\u00e9 \U0001f600\n\0\u2028"),
)
COMMANDS: list[wire.Command] = [
    wire.Load("/m", memory_bytes=2**40, snapshots_folder="/s", snapshots_bytes=1),
    wire.Plan("/m", memory_bytes=2**40),
    wire.Unload(),
    wire.Generate(
        "g", MESSAGES, GenerationOptions(temperature=0.5, stop=("a",), logit_bias={7: -1})
    ),
    wire.Cancel("g"),
    wire.Resize(1),
    wire.Stats(),
    wire.Continue(),
    wire.CountTokens("c", MESSAGES),
    wire.Forget(("a", "b")),
    wire.Serve("127.0.0.1", 8080, "sk-1"),
    wire.Expect("m"),
    wire.StopServing(),
    wire.Quit(),
]
EVENTS: list[wire.Event] = [
    wire.Ready(1, "0.1.0"),
    wire.Loading("dense", 0.5),
    wire.Loaded(FACTS, PLAN, KERNELS),
    wire.Planned("/m", None, LEDGER, 9, 1, 2, "m", "r"),
    wire.Unloaded(),
    wire.Prefill("g", 1, 2, 0),
    wire.Reasoning("g", "r\n"),
    wire.Text("g", "\u0627\u0644"),
    wire.Finished("g", "length", STATS),
    wire.TokensCounted("c", None),
    wire.EngineStats(1, 0.5, 2.0, 3.0, 1.0, "warning"),
    wire.MemoryChanged("critical", "m", PLAN),
    wire.StorageChanged(True, "m"),
    wire.Serving("http://127.0.0.1:8080/v1"),
    wire.NotServing("m", "r"),
    wire.Served(answering=True, waiting=2),
    wire.ModelWanted(),
    wire.Failed(None, "NotEnoughMemory", "m", "r"),
    wire.Bug("g", "Traceback"),
]


def test_the_lists_here_hold_every_message() -> None:
    assert {type(command) for command in COMMANDS} == set(get_args(wire.Command))
    assert {type(event) for event in EVENTS} == set(get_args(wire.Event))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: type(c).__name__)
def test_commands_arrive_as_sent(command: wire.Command) -> None:
    line = wire.encode(command)
    assert line.count(b"\n") == 1
    assert wire.decode_command(line) == command


@pytest.mark.parametrize("event", EVENTS, ids=lambda e: type(e).__name__)
def test_events_arrive_as_sent(event: wire.Event) -> None:
    line = wire.encode(event)
    assert line.count(b"\n") == 1
    assert wire.decode_event(line) == event


def test_the_key_is_not_shown() -> None:
    assert "sk-1" not in repr(wire.Serve("127.0.0.1", 8080, "sk-1"))


@given(st.text())
@settings(deadline=None)
def test_any_text_arrives_as_sent(text: str) -> None:
    event = wire.Text("g", text)
    assert list(wire.lines(io.BytesIO(wire.encode(event) * 2))) == [wire.encode(event)] * 2
    assert wire.decode_event(wire.encode(event)) == event


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"[]",
        b"null",
        b'"Text"',
        b"{}",
        b'{"type": 1}',
        b'{"type": "Load"}',
        b'{"type": "Nothing"}',
        b'{"type": "Text", "id": "g"}',
        b'{"type": "Text", "id": "g", "text": null}',
        b'{"type": "Text", "id": "g", "text": "a", "more": 1}',
        b'{"type": "Text", "id": "g", "text": "\\ud800"}',
        b'{"type": "Text", "id": "g", "text": "\xff"}',
        b'{"type": "Loading", "phase": "x", "share": NaN}',
        b'{"type": "Loading", "phase": "x", "share": Infinity}',
        b'{"type": "Loading", "phase": "x", "share": 1e999}',
        b'{"type": "Prefill", "id": "g", "done": 1' + b"0" * 5000 + b', "total": 1, "cached": 0}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        '{"type": "Unloaded"}'.encode("utf-16"),
    ],
    ids=lambda line: line[:40].decode(errors="replace"),
)
def test_malformed_lines_are_refused(line: bytes) -> None:
    with pytest.raises(wire.BadLine):
        wire.decode_event(line)


@given(st.sampled_from(EVENTS), st.data())
@settings(deadline=None, max_examples=150)
def test_damaged_lines_are_refused_or_read(event: wire.Event, data: st.DataObject) -> None:
    line = bytearray(wire.encode(event))
    place = data.draw(st.integers(0, len(line) - 1))
    line[place] = data.draw(st.integers(0, 255))
    with contextlib.suppress(wire.BadLine):
        wire.decode_event(bytes(line))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@given(st.sampled_from(COMMANDS), st.data())
@settings(deadline=None)
def test_no_field_does_anything_but_raise(command: wire.Command, data: st.DataObject) -> None:
    body = json.loads(wire.encode(command))
    body[data.draw(st.sampled_from(sorted(body)))] = data.draw(JSON)
    with contextlib.suppress(wire.BadLine, BadOption):
        wire.decode_command(json.dumps(body).encode())


def test_options_out_of_their_limits_are_told_as_such() -> None:
    line = b'{"type":"Generate","id":"g","messages":[],"options":{"temperature":-1}}'
    with pytest.raises(BadOption, match="temperature is -1"):
        wire.decode_command(line)


def test_a_line_that_is_too_long_is_cut_and_the_next_one_is_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wire, "MAX_LINE_BYTES", 30)
    stream = io.BytesIO(b"x" * 100 + b"\n" + b'{"type":"Quit"}\n')
    first, second = wire.lines(stream)
    with pytest.raises(wire.BadLine, match="more than 30"):
        wire.decode_command(first)
    assert wire.decode_command(second) == wire.Quit()


def test_a_line_cut_short_by_a_death_is_dropped() -> None:
    stream = io.BytesIO(b'{"type":"Quit"}\n{"type":"Qu')
    assert list(wire.lines(stream)) == [b'{"type":"Quit"}\n']


@pytest.mark.parametrize("module", ["engine.host", "app.engine_client", "app.workspace"])
def test_neither_end_brings_in_mlx(module: str) -> None:
    code = f"import {module}, sys; sys.exit('mlx.core' in sys.modules or 'numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
