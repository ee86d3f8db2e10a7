"""The self-test: what is whole passes, and what is missing or dies is named."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app import self_test
from app.installed_models import DEMO, is_model
from engine import protocol as wire
from engine.self_test import Check

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif(not is_model(DEMO), reason="the built-in model is not here")
def test_a_whole_program_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    command = [sys.executable, "-m", "app", "--self-test"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    report = json.loads(done.stdout)
    assert [check for check in report["checks"] if check["fault"]] == []
    assert (done.returncode, report["ok"]) == (0, True)
    names = {check["name"] for check in report["checks"]}
    assert {"demo model", "qt platform", "mlx device", "tls", "shader router.metal"} < names


def test_one_fault_is_enough(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [Check("a", detail="well"), Check("b", fault="ValueError: ill")]
    monkeypatch.setattr(self_test, "_checks", lambda: iter(found))
    assert self_test.main() == 1
    report = json.loads(capsys.readouterr().out)
    assert not report["ok"]
    assert report["checks"][1] == {"name": "b", "detail": "", "fault": "ValueError: ill"}


def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> list[Check]:
    """What is made of a part that does this."""
    (tmp_path / "part.py").write_text(body)
    monkeypatch.chdir(tmp_path)
    return self_test.run_part("part")


def test_a_part_that_dies_is_named_with_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = json.dumps({"name": "fonts", "detail": "3", "fault": ""})
    body = f"import os, sys\nprint('{line}', flush=True)\nsys.stderr.write('no plugin')\n"
    fonts, death = play(tmp_path, monkeypatch, body + "sys.stderr.flush()\nos._exit(6)\n")
    assert fonts == Check("fonts", detail="3")
    assert death == Check("part", fault="ended with 6 after fonts: no plugin")


def test_a_part_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_test, "PATIENCE_S", 0.5)
    (check,) = play(tmp_path, monkeypatch, "import time\ntime.sleep(600)\n")
    assert "did not end" in check.fault


def test_missing_files_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resources = tmp_path / "Resources"
    resources.mkdir()
    monkeypatch.setattr(self_test, "RESOURCES", resources)
    monkeypatch.setattr(self_test, "FILES", resources / "files.txt")
    assert self_test._files() == "a source tree"
    (resources / "files.txt").write_text("Resources/files.txt\nMacOS/Martlet\n")
    with pytest.raises(FileNotFoundError, match="1 missing: MacOS/Martlet"):
        self_test._files()


LOADED = wire.Loaded(
    wire.ModelFacts("demo", "/demo", "qwen3_next", 4096, 12, 16, 2, False),
    wire.MemoryPlan(1, 1, 1, 1, 1, 1),
    wire.KernelReport("metal", "gpu", "bfloat16", (wire.ShaderReport("router", False, "NaN"),)),
)


def test_an_answer_says_what_computed_it() -> None:
    finished = wire.Finished("1", "stop", stats=None)  # type: ignore[arg-type]
    heard = self_test._heard(
        iter([LOADED, wire.Text("1", "A "), wire.Text("1", "tower"), finished])
    )
    assert heard == "A tower (metal on the gpu, shaders off: ['router'])"


@pytest.mark.parametrize(
    ("events", "fault"),
    [
        ([wire.Failed(None, "ModelNotFound", "There is no folder.", "")], "There is no folder"),
        ([LOADED, wire.Bug("1", "Traceback ...")], "Traceback"),
        ([LOADED, wire.Text("1", "A")], "the engine ended"),
        ([], "the engine ended"),
    ],
)
def test_no_answer_is_a_fault(events: list[wire.Event], fault: str) -> None:
    with pytest.raises((RuntimeError, EOFError), match=fault):
        self_test._heard(iter(events))


def test_it_makes_no_window_and_touches_no_data() -> None:
    code = "import sys, app.self_test; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"PySide6.QtWidgets", "PySide6.QtGui", "mlx", "app.chat_store"}
