"""Finding models by path, by name, and the built-in one."""

import os

import pytest

from engine.container import library
from engine.container.library import find_model, models_folders
from engine.errors import ModelNotFound


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Two models folders, the first with `qwen.qpack`, the second with `other`."""
    first, second = tmp_path / "first", tmp_path / "second"
    (first / "qwen.qpack").mkdir(parents=True)
    (second / "other").mkdir(parents=True)
    (second / "qwen").mkdir()
    monkeypatch.setenv("MARTLET_MODELS", f"{first}{os.pathsep}{second}")
    return first, second


def test_a_path_is_taken_as_it_is(tmp_path):
    assert find_model(tmp_path) == tmp_path
    assert find_model(str(tmp_path)) == tmp_path


def test_names_are_looked_up_in_order_with_and_without_suffix(folders):
    first, second = folders
    assert find_model("qwen") == first / "qwen.qpack"
    assert find_model("qwen.qpack") == first / "qwen.qpack"
    assert find_model("other") == second / "other"


def test_home_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "model").mkdir()
    assert find_model("~/model") == tmp_path / "model"


def test_what_is_not_found_names_the_places_and_the_remedy(folders):
    with pytest.raises(ModelNotFound) as caught:
        find_model("nothing")
    for folder in folders:
        assert str(folder / "nothing.qpack") in caught.value.message
    assert str(folders[0]) in caught.value.remedy


@pytest.mark.parametrize("name", ["../qwen", "/no/such/model", "~nobody/x", "a\0b", "x" * 5000])
def test_odd_names_are_not_found_rather_than_a_crash(name, folders):
    with pytest.raises(ModelNotFound):
        find_model(name)


def test_a_path_is_not_looked_up_as_a_name(folders, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelNotFound) as caught:
        find_model("./qwen")
    assert str(folders[0]) not in caught.value.message


def test_the_built_in_model_is_beside_the_packages(monkeypatch, tmp_path):
    folder = library.built_in_model()
    assert folder.name == "demo.qpack"
    assert (folder.parents[1] / "engine" / "container").is_dir()
    monkeypatch.setattr(library, "built_in_model", lambda: tmp_path)
    assert find_model("demo") == tmp_path


def test_without_the_variable_models_stand_in_the_users_data(monkeypatch):
    monkeypatch.delenv("MARTLET_MODELS", raising=False)
    (folder,) = models_folders()
    assert folder.parts[-2:] == ("Martlet", "models")
