"""A model that could not be loaded because it was away is noticed when it comes back."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QObject, Signal

from app.conversation import Failure
from app.engine_state import EngineState
from app.installed_models import DEMO
from app.model_watch import ModelWatch
from tests.app.conftest import Heard, WaitFor

GONE = Failure("ModelNotFound", "There is no folder.")


class Engine(QObject):
    """An engine that fails to load when a test says so."""

    state_changed = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.forgot = 0

    def fail(self, path: Path | str) -> None:
        failure = GONE if path else None
        self.state_changed.emit(EngineState(load_failure=failure, load_failure_path=str(path)))

    def forget_load_failure(self) -> None:
        self.forgot += 1
        self.fail("")


@pytest.fixture
def engine(qapp: QCoreApplication) -> Engine:
    return Engine()


@pytest.fixture
def watch(engine: Engine) -> Iterator[ModelWatch]:
    made = ModelWatch(engine)  # type: ignore[arg-type]
    yield made
    made.close()


def test_a_volume_that_comes_back(
    engine: Engine, watch: ModelWatch, tmp_path: Path, wait_for: WaitFor
) -> None:
    model = tmp_path / "volume" / "models" / "a.qpack"
    returned = Heard(watch.returned)
    engine.fail(model)
    (tmp_path / "volume").mkdir()
    wait_for(lambda: str(tmp_path / "volume") in watch._watcher.directories())
    aside = tmp_path / "aside"
    shutil.copytree(DEMO, aside / "a.qpack")
    aside.rename(tmp_path / "volume" / "models")
    wait_for(lambda: returned.told)
    assert returned.told == [str(model)]
    assert engine.forgot == 1
    assert watch._watcher.directories() == []


def test_a_file_that_comes_back(
    engine: Engine, watch: ModelWatch, tmp_path: Path, wait_for: WaitFor
) -> None:
    model = tmp_path / "a.qpack"
    shutil.copytree(DEMO, model)
    layer = model / "packed_experts" / "layer_00.bin"
    layer.rename(tmp_path / "aside.bin")
    returned = Heard(watch.returned)
    engine.fail(model)
    assert watch._watcher.directories()
    (tmp_path / "aside.bin").rename(layer)
    wait_for(lambda: returned.told == [str(model)])


def test_a_whole_model_is_not_waited_for(engine: Engine, watch: ModelWatch) -> None:
    engine.fail(DEMO)  # there was no memory for it
    assert watch._watcher.directories() == []


def test_nothing_is_watched_once_another_model_is_loaded(
    engine: Engine, watch: ModelWatch, tmp_path: Path
) -> None:
    engine.fail(tmp_path / "a.qpack")
    assert watch._watcher.directories() == [str(tmp_path)]
    engine.fail("")
    assert watch._watcher.directories() == []
