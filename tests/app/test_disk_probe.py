"""The disk is measured by a process of its own, which can be ended at any moment."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app import disk_speeds
from app.disk_probe import DiskProbe
from app.disk_speeds import keep_speed, kept_speed
from tests.app.conftest import Heard, WaitFor

Make = Callable[[str], DiskProbe]


@pytest.fixture
def make(tmp_path: Path, qapp: object) -> Iterator[Make]:
    """A probe whose process runs this program."""
    made: list[DiskProbe] = []

    def probe(program: str) -> DiskProbe:
        made.append(DiskProbe(tmp_path, tmp_path / "speeds.json", [sys.executable, "-c", program]))
        return made[-1]

    yield probe
    for probe_made in made:
        probe_made.close()


def test_measures_once(make: Make, wait_for: WaitFor) -> None:
    probe = make("print(2.9e9)")
    heard = Heard(probe.changed)
    probe.measure()
    probe.measure()
    assert probe.is_measuring
    wait_for(lambda: not probe.is_measuring)
    assert (probe.bytes_per_s, len(heard)) == (2.9e9, 2)


@pytest.mark.parametrize("program", ["print(0.0)", "raise SystemExit('no disk')"])
def test_what_cannot_be_measured_is_not_known(make: Make, wait_for: WaitFor, program: str) -> None:
    probe = make(program)
    probe.measure()
    wait_for(lambda: not probe.is_measuring)
    assert probe.bytes_per_s is None


def test_a_program_that_is_not_there(tmp_path: Path, qapp: object, wait_for: WaitFor) -> None:
    probe = DiskProbe(tmp_path, tmp_path / "speeds.json", ["/nowhere/python"])
    probe.measure()
    wait_for(lambda: not probe.is_measuring)
    assert probe.bytes_per_s is None


def test_closing_ends_the_process(make: Make) -> None:
    probe = make("import time; time.sleep(600)")
    probe.measure()
    probe.close()
    assert not probe.is_measuring


def test_what_was_measured_is_known_at_the_next_start(make: Make, wait_for: WaitFor) -> None:
    probe = make("print(2.9e9)")
    probe.measure()
    wait_for(lambda: not probe.is_measuring)
    assert make("print(1)").bytes_per_s == 2.9e9


def test_each_disk_has_its_own_speed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "speeds.json"
    keep_speed(file, tmp_path, 2.9e9)
    monkeypatch.setattr(disk_speeds, "_place", lambda folder: "/Volumes/T7")
    assert kept_speed(file, tmp_path) is None
    keep_speed(file, tmp_path, 0.9e9)
    assert kept_speed(file, tmp_path) == 0.9e9
    monkeypatch.undo()
    assert kept_speed(file, tmp_path) == 2.9e9


@pytest.mark.parametrize("text", ["", "{", "[1]", "\x00", '{"/": "fast", "x": 1e999}', "{}"])
def test_a_damaged_file_says_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "speeds.json"
    file.write_text(text)
    assert kept_speed(file, tmp_path) is None
    keep_speed(file, tmp_path, 1e9)
    assert kept_speed(file, tmp_path) == 1e9
