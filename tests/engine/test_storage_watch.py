"""A running model whose files fail and come back: the error names them, the return is noticed."""

import os
import shutil
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest

import engine
from engine import protocol as wire
from engine.container.container import open_container
from engine.errors import ReadFailed
from engine.hosted_model import HostedModel
from engine.options import GenerationOptions
from engine.storage_watch import StorageWatch
from tests.engine.conftest import TinyModels


@pytest.fixture
def folder(tmp_path: Path, tiny_models: TinyModels) -> Path:
    return shutil.copytree(tiny_models.container("qwen3_next", bits=4), tmp_path / "m.qpack")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        self.now += 2.0
        return self.now


def failure(path: Path, size: int = 100) -> ReadFailed:
    return ReadFailed("Expert 3 of layer 1 could not be read.", "Check.", path, 0, size)


def test_nothing_is_asked_until_something_failed(folder: Path) -> None:
    watch = StorageWatch(open_container(folder), Clock())
    shutil.rmtree(folder)
    assert watch.look() is None


def test_a_volume_that_goes_and_comes_is_noticed_once(folder: Path) -> None:
    watch = StorageWatch(open_container(folder), Clock())
    away = folder.rename(folder.with_name("away"))
    watch.failed(failure(folder / "packed_experts/layer_01.bin"))
    assert watch.look() is None
    away.rename(folder)
    assert watch.look() == wire.StorageChanged(True, "The model's files can be read again.")
    assert watch.look() is None


def test_a_place_that_still_fails_is_not_back(folder: Path) -> None:
    watch = StorageWatch(open_container(folder), Clock())
    layer = folder / "packed_experts/layer_01.bin"
    watch.failed(failure(layer, size=layer.stat().st_size + 1))
    assert watch.look() is None


def test_other_files_under_the_old_name_are_not_gone_on_with(folder: Path) -> None:
    watch = StorageWatch(open_container(folder), Clock())
    layer = folder / "packed_experts/layer_01.bin"
    watch.failed(failure(layer))
    layer.write_bytes(os.urandom(layer.stat().st_size))
    change = watch.look()
    assert change is not None
    assert not change.usable
    assert "Load the model again" in change.message


@pytest.fixture
def hosted(folder: Path) -> Iterator[HostedModel]:
    hosted = HostedModel(engine.load_model(folder, slots=4))
    yield hosted
    hosted.close()


@pytest.mark.parametrize("fault", ["file cut", "folder gone"])
def test_a_hosted_model_bears_it(
    hosted: HostedModel, folder: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosted._storage, "_clock", Clock())
    prompts = cycle(range(1, 200))

    def answer(count: int) -> None:
        options = GenerationOptions(temperature=0, max_tokens=4)
        for _ in range(count):
            ids = [next(prompts) for _ in range(8)]
            list(hosted._watch(hosted._session.complete(ids, options, text=False)))

    answer(1)
    layer = folder / "packed_experts/layer_02.bin"
    whole = layer.read_bytes()
    os.truncate(layer, 0)
    if fault == "folder gone":
        away = folder.rename(folder.with_name("away"))
    with pytest.raises(ReadFailed, match="layer 2") as failed:
        answer(20)  # until an expert is asked for that is not in memory
    assert str(layer) in failed.value.message
    assert hosted.tend() == []
    if fault == "folder gone":
        away.rename(folder)
    layer.write_bytes(whole)
    (change,) = hosted.tend()
    assert change == wire.StorageChanged(True, "The model's files can be read again.")
    answer(5)
