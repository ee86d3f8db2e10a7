"""A computer that went down with a model in memory is noticed; everything else is not."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.boot import boot_id, panicked_since
from app.engine_client import EngineClient
from app.safe_start import SafeStart, Suspicion
from tests.app.conftest import Script, WaitFor

Start = Callable[..., SafeStart]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "loaded.json"


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    folder = tmp_path / "DiagnosticReports"
    folder.mkdir()
    return folder


@pytest.fixture
def start(
    qapp: object,
    engine_command: Callable[[Script], list[str]],
    file: Path,
    reports: Path,
    request: pytest.FixtureRequest,
) -> Start:
    """The application starts in a run of the computer."""

    def start(boot: str = "first", **script: object) -> SafeStart:
        engine = EngineClient(engine_command(script))
        request.addfinalizer(engine.close)
        made = SafeStart(engine, file, lambda: boot, reports)
        made.engine_kept = engine  # type: ignore[attr-defined]
        return made

    return start


def engine_of(safe: SafeStart) -> EngineClient:
    engine: EngineClient = safe.engine_kept  # type: ignore[attr-defined]
    return engine


def load(safe: SafeStart, wait_for: WaitFor) -> None:
    engine = engine_of(safe)
    engine.load("/m/a.qpack")
    wait_for(lambda: engine.state.model == "loaded")


def test_a_file_says_that_a_model_is_in_memory(start: Start, file: Path, wait_for: WaitFor) -> None:
    safe = start()
    assert not file.exists()
    load(safe, wait_for)
    assert json.loads(file.read_text())["model"] == "/m/a.qpack"
    engine_of(safe).unload()
    wait_for(lambda: not file.exists())


def test_it_is_there_from_the_beginning_of_a_load(
    start: Start, file: Path, wait_for: WaitFor
) -> None:
    safe = start(load={"delay_s": 60})
    engine_of(safe).load("/m/a.qpack")
    wait_for(file.exists)
    assert json.loads(file.read_text())["budget_bytes"] == 0
    engine_of(safe).kill()


def test_a_computer_that_went_down(start: Start, file: Path, wait_for: WaitFor) -> None:
    load(start("first"), wait_for)
    kept = file.read_text()
    file.write_text(kept)
    again = start("second")
    assert again.suspicion == Suspicion("/m/a.qpack", False, 80_000_000)
    assert not file.exists()
    assert start("second").suspicion is None, "it is asked once"


def test_a_killed_application_is_no_crash_of_the_computer(start: Start, wait_for: WaitFor) -> None:
    load(start("first"), wait_for)
    assert start("first").suspicion is None


def test_a_crash_of_the_system_is_called_one(
    start: Start, reports: Path, wait_for: WaitFor
) -> None:
    load(start("first"), wait_for)
    report = reports / "panic-full-2026-01-01.ips"
    report.write_text("{}")
    later = time.time() + 5
    os.utime(report, (later, later))
    suspicion = start("first").suspicion
    assert suspicion is not None
    assert suspicion.crashed


def test_an_older_report_is_of_another_crash(start: Start, reports: Path) -> None:
    report = reports / "Kernel.panic"
    report.write_text("")
    assert panicked_since(time.time() - 60, reports)
    assert not panicked_since(time.time() + 60, reports)
    assert start().suspicion is None


def test_a_load_settles_it(start: Start, wait_for: WaitFor, file: Path) -> None:
    load(start("first"), wait_for)
    again = start("second")
    settled: list[bool] = []
    again.settled.connect(lambda: settled.append(True))
    load(again, wait_for)
    assert settled == [True]
    assert again.suspicion is None


def test_a_file_that_makes_no_sense_is_none(start: Start, file: Path) -> None:
    file.write_text('{"boot": 3}')
    assert start().suspicion is None
    assert not file.exists()


def test_every_run_of_the_computer_has_a_name() -> None:
    assert boot_id() == boot_id()
