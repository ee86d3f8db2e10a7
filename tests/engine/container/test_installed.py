"""What stands in the models folders: at any depth, behind links, half there, broken, or away."""

import json
import os
import shutil
from pathlib import Path

import pytest

from engine.container.container import JOURNAL, MANIFEST
from engine.container.installed import InstalledModel, installed_models, look_at
from engine.container.origin import Origin, write_origin
from tests.engine.conftest import TinyModels


@pytest.fixture(scope="module")
def container(tiny_models: TinyModels) -> Path:
    return tiny_models.container("qwen3_next", bits=4)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    return folder


def put(container: Path, *where: str | Path) -> Path:
    return Path(shutil.copytree(container, Path(*where)))


def states(*folders: Path, known: tuple[Path, ...] = ()) -> dict[str, str]:
    return {model.name: model.state for model in installed_models(folders, known)}


def test_models_are_found_at_any_depth(container: Path, models: Path) -> None:
    put(container, models, "one.qpack")
    put(container, models, "owner", "repo", "deep", "three.qpack")
    assert states(models) == {"one": "ready", "three": "ready"}


def test_a_models_folder_may_be_a_model_itself(container: Path) -> None:
    [model] = installed_models([container])
    assert (model.path, model.state) == (container, "ready")


def test_a_ready_one_has_its_figures(container: Path, models: Path) -> None:
    path = put(container, models, "one.qpack")
    [model] = installed_models([models])
    assert (model.bits, model.context_length, model.message) == (4, 512, "")
    assert model.shape
    assert model.shape.layer_count == 4
    on_disk = sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
    assert 0.9 * on_disk < model.disk_bytes <= on_disk


def test_links_are_followed_and_circles_end(container: Path, models: Path, tmp_path: Path) -> None:
    elsewhere = put(container, tmp_path, "elsewhere", "far.qpack")
    (models / "link.qpack").symlink_to(elsewhere)
    (models / "round").symlink_to(models)
    assert states(models) == {"link": "ready"}


def test_a_model_reached_twice_is_one(container: Path, models: Path) -> None:
    put(container, models, "one.qpack")
    (models / "again.qpack").symlink_to(models / "one.qpack")
    assert len(installed_models([models, models])) == 1


def test_half_a_download_is_told_by_its_bytes(container: Path, models: Path) -> None:
    path = put(container, models, "half.qpack")
    (path / MANIFEST).unlink()
    (path / JOURNAL).write_text("{}")
    write_origin(path, Origin("acme/Tiny", "container", "c0ffee", 5_200_000_000))
    [model] = installed_models([models])
    assert (model.state, model.source) == ("incomplete", "acme/Tiny")
    assert "of 5.2 GB here" in model.message


def test_a_shard_cut_short_makes_a_model_incomplete_and_names_it(
    container: Path, models: Path
) -> None:
    path = put(container, models, "cut.qpack")
    os.truncate(path / "packed_experts" / "layer_02.bin", 100_000)
    [model] = installed_models([models])
    assert model.state == "broken"
    assert "1.1 MB of 1.2 MB here." in model.message
    assert "layer_02.bin" in model.message


def test_one_that_cannot_be_run_says_why(container: Path, models: Path) -> None:
    path = put(container, models, "other.qpack")
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | {"model_type": "llama"}))
    manifest = json.loads((path / MANIFEST).read_text())
    manifest["files"].pop("config.json")
    (path / MANIFEST).write_text(json.dumps(manifest))
    [model] = installed_models([models])
    assert model.state == "unsupported"
    assert "llama" in model.message


def test_a_checkpoint_is_offered_for_repacking(tiny_models: TinyModels, models: Path) -> None:
    put(tiny_models.checkpoint("qwen3_next", bits=4), models, "Tiny-MLX")
    [model] = installed_models([models])
    assert (model.name, model.state) == ("Tiny-MLX", "checkpoint")


def test_other_folders_are_no_models(models: Path) -> None:
    for name in (".hidden/x.qpack", "pictures"):
        (models / name).mkdir(parents=True)
    (models / "pictures" / "cat.png").touch()
    (models / ".hidden" / "x.qpack" / MANIFEST).touch()
    assert states(models) == {}


def test_a_disk_that_is_away_keeps_its_entries_and_they_come_back(
    container: Path, models: Path
) -> None:
    known = (put(container, models, "one.qpack"),)
    away = models.rename(models.with_name("away"))
    [model] = installed_models([models], known)
    assert model.state == "away"
    assert model.message == f"On “{models}”, which is not connected."
    away.rename(models)
    assert states(models, known=known) == {"one": "ready"}


def test_a_model_that_was_deleted_is_gone(container: Path, models: Path) -> None:
    known = (put(container, models, "one.qpack"),)
    shutil.rmtree(known[0])
    assert states(models, known=known) == {}


def test_a_link_to_a_disk_that_is_away_is_away(models: Path) -> None:
    (models / "far.qpack").symlink_to("/Volumes/Archive/far.qpack")
    [model] = installed_models([models])
    assert (model.state, model.message) == ("away", "On “Archive”, which is not connected.")


def test_one_place_away_does_not_hide_the_others(container: Path, models: Path) -> None:
    put(container, models, "one.qpack")
    gone = models.with_name("gone")
    assert states(gone, models, known=(gone / "two.qpack",)) == {"one": "ready", "two": "away"}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"magic": "QPACK"}', "\0" * 100])
def test_a_damaged_manifest_is_told_and_nothing_raised(
    container: Path, models: Path, content: str
) -> None:
    path = put(container, models, "bad.qpack")
    (path / MANIFEST).write_text(content)
    model = look_at(path)
    assert isinstance(model, InstalledModel)
    assert model.state == "broken"
    assert model.message
