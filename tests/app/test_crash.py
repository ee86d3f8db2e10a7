"""A fault of our own becomes a report, on whatever thread it happened."""

import sys
import threading
from pathlib import Path

import pytest

from app import crash
from app.logs import log_file
from engine import __version__


@pytest.fixture(autouse=True)
def _hooks_stay_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)


def test_a_report_says_what_and_where_and_nothing_secret(tmp_path: Path) -> None:
    log_file(tmp_path).write_text("".join(f"line {n}\n" for n in range(1000)))
    report = crash.make_report("Traceback\n  somewhere\nValueError: hf_abcd1234\n", tmp_path)
    assert report.headline == "ValueError: hf_…"
    assert f"Martlet {__version__}" in report.text
    assert "somewhere" in report.text
    assert "abcd1234" not in report.text
    assert "line 999" in report.text
    assert "line 900\n" not in report.text


def test_a_report_without_a_log(tmp_path: Path) -> None:
    report = crash.make_report("", tmp_path)
    assert report.headline == "Unknown fault"
    assert "(there is no log)" in report.text


def test_every_thread_is_watched() -> None:
    told: list[str] = []
    crash.watch(told.append)

    def fail() -> None:
        raise ZeroDivisionError("in a thread")

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    try:
        raise KeyError("here")
    except KeyError as error:
        sys.excepthook(KeyError, error, error.__traceback__)
    assert "ZeroDivisionError: in a thread" in told[0]
    assert "KeyError: 'here'" in told[1]


def test_an_interrupt_is_no_crash(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[str] = []
    crash.watch(told.append)
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert told == []
    assert "KeyboardInterrupt" in capsys.readouterr().err
