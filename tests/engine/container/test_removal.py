"""Deleting a model: all of it, only of it, and never something else."""

import shutil
from pathlib import Path

import pytest

from engine.container.container import JOURNAL, MANIFEST
from engine.container.removal import disk_bytes, remove_model
from engine.errors import BadOption, ModelNotFound
from tests.engine.conftest import TinyModels


@pytest.fixture
def model(tiny_models: TinyModels, tmp_path: Path) -> Path:
    return Path(
        shutil.copytree(tiny_models.container("qwen3_next", bits=4), tmp_path / "tiny.qpack")
    )


def test_all_of_it_goes_and_the_bytes_are_told(model: Path) -> None:
    size = disk_bytes(model)
    removal = remove_model(model)
    assert not model.exists()
    assert (removal.freed_bytes, removal.kept) == (size, ())


def test_half_of_one_goes_too(model: Path) -> None:
    (model / MANIFEST).unlink()
    (model / JOURNAL).write_text('{"files": ["extra.json", "../outside.txt"]}')
    (model / "extra.json").write_text("{}")
    (model / ".install-gaps").mkdir()
    (model / ".install-gaps" / "shard").write_bytes(b"x" * 5000)
    outside = model.with_name("outside.txt")
    outside.write_text("mine")
    remove_model(model)
    assert not model.exists()
    assert outside.read_text() == "mine"


def test_what_is_not_its_own_stays_and_is_named(model: Path) -> None:
    (model / "notes.txt").write_text("mine")
    (model / "packed_experts" / "thesis.tex").write_text("mine as well")
    removal = remove_model(model)
    assert removal.kept == ("notes.txt", "packed_experts")
    assert {p.name for p in model.rglob("*") if p.is_file()} == {"notes.txt", "thesis.tex"}


def test_of_a_link_the_link_goes(model: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.qpack"
    link.symlink_to(model)
    remove_model(link)
    assert not link.is_symlink()
    assert (model / MANIFEST).is_file()


@pytest.mark.parametrize("names", [[], ["novel.txt"], ["config.json", "model.safetensors"]])
def test_what_is_no_container_is_refused(tmp_path: Path, names: list[str]) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in names:
        (folder / name).touch()
    with pytest.raises(BadOption, match="holds no container"):
        remove_model(folder)
    assert {p.name for p in folder.iterdir()} == set(names)


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound):
        remove_model(tmp_path / "nothing")


def test_after_a_crash_in_the_middle_it_is_no_model(model: Path, monkeypatch: object) -> None:
    """The manifest goes first, whatever comes after."""
    order: list[str] = []
    delete = Path.unlink

    def note(path: Path, **how: bool) -> None:
        order.append(path.name)
        delete(path, **how)

    monkeypatch.setattr(Path, "unlink", note)  # type: ignore[attr-defined]
    remove_model(model)
    assert order[0] == MANIFEST
