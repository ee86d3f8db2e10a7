"""Models are found where they lie, at any depth that is sensible."""

from pathlib import Path

import pytest

from app import installed_models as module
from app.installed_models import installed_models, is_model, model_name


@pytest.fixture(autouse=True)
def no_demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    demo = tmp_path / "resources" / "demo.qpack"
    monkeypatch.setattr(module, "DEMO", demo)
    return demo


def make(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    return folder


def names(*folders: Path) -> list[str]:
    return [model.name for model in installed_models(folders)]


def test_found_at_several_depths_by_name(tmp_path: Path) -> None:
    make(tmp_path / "b.qpack")
    make(tmp_path / "someone" / "A.qpack")
    make(tmp_path / "x" / "y" / "c")
    make(tmp_path / "1" / "2" / "3" / "too-deep")
    assert names(tmp_path) == ["A", "b", "c"]


def test_folder_may_be_a_model_itself(tmp_path: Path) -> None:
    assert names(make(tmp_path / "one.qpack")) == ["one"]


def test_one_model_in_two_folders_is_listed_once(tmp_path: Path) -> None:
    make(tmp_path / "real" / "one.qpack")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "one.qpack").symlink_to(tmp_path / "real" / "one.qpack")
    assert names(tmp_path / "real", tmp_path / "links", tmp_path) == ["one"]


def test_link_to_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    make(tmp_path / "one.qpack")
    assert names(tmp_path) == ["one"]


def test_folder_that_is_away_holds_none(tmp_path: Path) -> None:
    assert names(tmp_path / "away") == []


def test_incomplete_models_are_none(tmp_path: Path) -> None:
    (tmp_path / "partial.qpack").mkdir()
    assert names(tmp_path) == []
    assert not is_model(tmp_path / "partial.qpack")


def test_demo_comes_first(no_demo: Path, tmp_path: Path) -> None:
    make(no_demo)
    make(tmp_path / "models" / "a.qpack")
    found = installed_models([tmp_path / "models"])
    assert [(model.name, model.is_demo) for model in found] == [
        ("Martlet Mini", True),
        ("a", False),
    ]
    assert model_name(str(no_demo)) == "Martlet Mini"
