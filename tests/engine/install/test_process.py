"""The download process as the app meets it: one a download, killable, never left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.container.container import MANIFEST
from engine.install.protocol import (
    Bug,
    Cancel,
    Command,
    Discarded,
    Done,
    Event,
    Failed,
    Found,
    LookUp,
    Offer,
    Pause,
    Paused,
    Progress,
    Ready,
    Search,
    Start,
    decode_event,
    encode,
)
from tests.engine.fake_hub import TOKEN, FakeHub
from tests.engine.install.conftest import CHECKPOINT, MODEL, QUICK, files_of

DEADLINE_S = 120


class Process:
    """One process, and the events it sends."""

    def __init__(self, hub: FakeHub, command: Command) -> None:
        environment = os.environ | {"HF_ENDPOINT": hub.endpoint, "HF_HUB_OFFLINE": "0"}
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "engine.install"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        self.send(command)

    def send(self, command: Command) -> None:
        assert self.popen.stdin
        self.popen.stdin.write(encode(command))
        self.popen.stdin.flush()

    def next(self) -> Event | None:
        assert self.popen.stdout
        line = self.popen.stdout.readline()
        return decode_event(line) if line else None

    def wait_for(self, kind: type[Event]) -> Event:
        while (event := self.next()) is not None:
            if isinstance(event, kind):
                return event
        raise AssertionError(f"it ended without {kind.__name__}: {self.end()}")

    def end(self) -> str:
        """What it wrote to standard error, at its end."""
        return self.popen.communicate(timeout=DEADLINE_S)[1].decode()


def start(source: str, target: Path) -> Start:
    return Start(source, str(target), anyway=True, patience=QUICK)


def stalled(hub: FakeHub, source: str, target: Path) -> Process:
    """An installation that has begun and hangs in the network."""
    hub.fail("", "stall", times=10**6, after=70_000, least=80_000)
    process = Process(hub, start(source, target))
    while not isinstance(event := process.wait_for(Progress), Progress) or event.done == 0:
        pass
    return process


def test_from_start_to_done(hub: FakeHub, container: Path, quick_disk: Path) -> None:
    hub.add(MODEL, container)
    process = Process(hub, start(MODEL, quick_disk / "tiny"))
    ready = process.wait_for(Ready)
    assert isinstance(ready, Ready)
    assert ready.pid == process.popen.pid
    assert isinstance(process.wait_for(Done), Done)
    assert process.end() == ""
    assert process.popen.returncode == 0
    assert files_of(quick_disk / "tiny") == files_of(container)


def test_cancel_of_one_of_two_takes_a_second_and_leaves_the_other(
    hub: FakeHub, container: Path, checkpoint: Path, quick_disk: Path
) -> None:
    hub.add(MODEL, container)
    hub.add(CHECKPOINT, checkpoint)
    patience = QUICK.__class__(stall_s=60.0)  # neither gives up by itself
    hub.fail("", "stall", times=10**6, after=70_000, least=75_000)
    one, other = (
        Process(hub, Start(source, str(quick_disk / name), anyway=True, patience=patience))
        for source, name in ((MODEL, "one"), (CHECKPOINT, "other"))
    )
    for process in (one, other):
        process.wait_for(Progress)
    began = time.monotonic()
    one.send(Cancel())
    assert isinstance(one.wait_for(Discarded), Discarded)
    one.end()
    took = time.monotonic() - began
    assert one.popen.returncode == 0
    assert took < 10  # it is 0.1 s where nothing else runs; a hung socket would take 60
    assert not (quick_disk / "one").exists()
    assert other.popen.poll() is None
    hub.faults.clear()
    hub.resume.set()
    assert isinstance(other.wait_for(Done), Done)
    other.end()


def test_pause_and_another_process_goes_on(hub: FakeHub, container: Path, quick_disk: Path) -> None:
    hub.add(MODEL, container)
    process = stalled(hub, MODEL, quick_disk / "tiny")
    process.send(Pause())
    assert isinstance(process.wait_for(Paused), Paused)
    process.end()
    hub.faults.clear()
    again = Process(hub, start(MODEL, quick_disk / "tiny"))
    assert isinstance(again.wait_for(Done), Done)
    again.end()


def test_the_end_of_the_app_ends_it_and_keeps_everything(
    hub: FakeHub, container: Path, quick_disk: Path
) -> None:
    hub.add(MODEL, container)
    process = stalled(hub, MODEL, quick_disk / "tiny")
    process.end()  # closes its input
    assert process.popen.returncode == 0
    assert any((quick_disk / "tiny").rglob("layer_*.bin"))
    assert not (quick_disk / "tiny" / MANIFEST).exists()


def test_it_sleeps_through_a_stop_and_wakes(
    hub: FakeHub, container: Path, quick_disk: Path
) -> None:
    """As a Mac that sleeps: its connections are gone when it wakes."""
    hub.add(MODEL, container)
    process = stalled(hub, MODEL, quick_disk / "tiny")
    process.popen.send_signal(signal.SIGSTOP)
    hub.faults.clear()
    hub.resume.set()
    process.popen.send_signal(signal.SIGCONT)
    assert isinstance(process.wait_for(Done), Done)
    process.end()


def test_search_lists_what_can_be_run(hub: FakeHub, container: Path) -> None:
    hub.add(MODEL, container, tags=("license:apache-2.0",))
    hub.add("acme/Other-qpack", container)
    hub.add("acme/Tiny-MLX", container, tags=("mlx", "qwen3_next"), gated=True)
    hub.add("acme/Tiny-GGUF", container, tags=("gguf", "qwen3_next"))
    process = Process(hub, Search("tiny", token=TOKEN))
    found = process.wait_for(Found)
    process.end()
    assert isinstance(found, Found)
    assert {(m.id, m.kind, m.gated) for m in found.models} == {
        (MODEL, "container", False),
        ("acme/Tiny-MLX", "checkpoint", True),
    }


def test_a_search_that_fails_says_so(hub: FakeHub) -> None:
    hub.fail("/api/models", "status", status=503, times=10)
    process = Process(hub, Search("tiny"))
    failed = process.wait_for(Failed)
    process.end()
    assert isinstance(failed, Failed)
    assert failed.kind == "DownloadFailed"


@pytest.mark.parametrize("source", [MODEL, CHECKPOINT])
def test_a_look_tells_what_it_is_and_takes_nothing(
    hub: FakeHub, container: Path, checkpoint: Path, source: str
) -> None:
    hub.add(source, container if source == MODEL else checkpoint)
    process = Process(hub, LookUp(source))
    offer = process.wait_for(Offer)
    process.end()
    assert isinstance(offer, Offer)
    assert (offer.bits, offer.licence, offer.name) == (4, "apache-2.0", source)
    assert offer.kind == ("container" if source == MODEL else "checkpoint")
    assert (offer.shape.layer_count, offer.shape.expert_count) == (4, 16)
    assert offer.shape.dense_bytes < offer.shape.fixed_bytes
    assert hub.served < 100_000


def test_a_fault_of_ours_is_told_as_one(hub: FakeHub, quick_disk: Path) -> None:
    process = Process(hub, start("no/such\0name", quick_disk / "x"))
    event = process.next()
    while isinstance(event, Ready):
        event = process.next()
    assert isinstance(event, Failed | Bug)
    process.end()
