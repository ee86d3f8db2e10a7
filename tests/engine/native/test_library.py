"""The library's file: never stale, built once, and honest about why it is missing."""

import runpy
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from engine.native import core, library

SOURCE = '#include "answer.h"\nint answer(void) { return ANSWER; }\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "answer.c").write_text(SOURCE)
    (tmp_path / "answer.h").write_text("#define ANSWER 42\n")
    return tmp_path


def built(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.suffix == library.SUFFIX]


def test_any_change_of_a_source_makes_the_library_stale(folder: Path) -> None:
    first = library.compile_library(folder)
    assert built(folder) == [first.name]
    assert library.compile_library(folder) == first
    (folder / "answer.h").write_text("#define ANSWER 43\n")
    second = library.compile_library(folder)
    assert second != first
    assert built(folder) == [second.name]
    (folder / "answer.h").rename(folder / "question.h")
    assert library.library_path(folder) != second


def test_an_error_in_a_source_is_told_and_leaves_nothing(folder: Path) -> None:
    (folder / "answer.c").write_text("int answer(void) { return UNKNOWN; }\n")
    with pytest.raises(library.CompileFailed, match="UNKNOWN"):
        library.compile_library(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["answer.c", "answer.h"]


def test_a_missing_compiler_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "compiler", lambda: ["no-such-compiler"])
    with pytest.raises(library.CompileFailed, match="no-such-compiler"):
        library.compile_library(folder)


def test_builders_at_the_same_time_build_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[Path] = []
    compile_units = library._compile

    def counted(folder: Path, output: Path) -> None:
        compiled.append(output)
        compile_units(folder, output)

    monkeypatch.setattr(library, "_compile", counted)
    threads = [threading.Thread(target=library.compile_library, args=(folder,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compiled) == 1
    assert built(folder) == [library.library_path(folder).name]


def test_a_bundle_has_the_library_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "sources", list)
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    with pytest.raises(FileNotFoundError, match="no library"):
        core._path()
    carried = tmp_path / f"martlet-0123{library.SUFFIX}"
    carried.touch()
    assert core._path() == carried


def test_without_a_library_the_reason_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> Path:
        raise library.CompileFailed("no compiler")

    monkeypatch.setattr(core, "_path", fail)
    assert core.native_core.__wrapped__() is None
    assert "no compiler" in caplog.text


@pytest.mark.parametrize("version", ["standard", "editable"])
def test_the_build_carries_the_library(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interface = ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = type("BuildHookInterface", (), {})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    native = tmp_path / "engine" / "native"
    native.mkdir(parents=True)
    (native / "answer.c").write_text("int answer(void) { return 42; }\n")
    (native / "library.py").write_bytes((library.FOLDER / "library.py").read_bytes())

    hook = runpy.run_path(str(library.FOLDER / "build.py"))["NativeBuildHook"]()
    hook.root = str(tmp_path)
    build_data: dict[str, Any] = {"force_include": {}}
    hook.initialize(version, build_data)

    path = library.library_path(native)
    assert path.exists()
    assert build_data["tag"].startswith("py3-none-")
    included = {} if version == "editable" else {str(path): f"engine/native/{path.name}"}
    assert build_data["force_include"] == included
