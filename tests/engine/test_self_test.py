"""The engine's part of the self-test."""

import json
from pathlib import Path

import pytest

from engine import self_test
from engine.self_test import Check, attempt


def test_an_attempt_tells_what_it_found() -> None:
    assert attempt("a", lambda: "seven") == Check("a", detail="seven")
    assert attempt("a", lambda: None) == Check("a")


def test_an_attempt_tells_what_went_wrong() -> None:
    assert attempt("a", lambda: 1 // 0).fault.startswith("ZeroDivisionError")


def test_checks_are_told_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    self_test.tell(iter([Check("a", detail="ü"), Check("b", fault="no")]))
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {"name": "a", "detail": "ü", "fault": ""}
    assert second["fault"] == "no"


def test_all_modules_of_a_package_are_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "made_up"
    package.mkdir()
    for name in ("__init__", "good", "__main__"):
        (package / f"{name}.py").write_text("raise SystemExit" * (name == "__main__"))
    (package / "martlet-0123.so").write_bytes(b"no module")
    monkeypatch.syspath_prepend(tmp_path)
    assert self_test.import_all("made_up") == "1 modules"
    (package / "broken.py").write_text("import no_such_thing")
    assert "no_such_thing" in attempt("a", lambda: self_test.import_all("made_up")).fault


def test_a_missing_metal_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr("importlib.resources.files", lambda package: tmp_path)
    assert "mlx.metallib" in attempt("a", self_test._metal_library).fault
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "mlx.metallib").touch()
    assert self_test._metal_library() == "beside libmlx"


def test_a_missing_shader_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def text(name: str) -> str:
        if name == "best.h":
            raise FileNotFoundError(name)
        return "code"

    monkeypatch.setattr("engine.model.metal.shader.text", text)
    faults = [check for check in self_test._shaders() if check.fault]
    assert faults == [Check("shader best.h", fault="FileNotFoundError: best.h")]


def test_the_small_computation_and_the_native_core_work() -> None:
    assert attempt("a", self_test._compute).fault == ""
    assert attempt("a", self_test._native_core).fault == ""
