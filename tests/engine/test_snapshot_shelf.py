"""Snapshots in files: found by their beginning, bounded, and never left behind."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import mlx.core as mx
import pytest

import engine
from engine.model.state import Snapshot
from engine.prefix_cache import PrefixCache
from engine.snapshot_shelf import SnapshotShelf, sweep
from tests.engine.conftest import TinyModels

IDS = [5, 6, 7, 8, 9]


@pytest.fixture(scope="module")
def model(tiny_models: TinyModels) -> Iterator[engine.Model]:
    model = engine.load_model(tiny_models.container("qwen3_next", bits=4), slots=16)
    yield model
    model.close()


@pytest.fixture
def shelf(model: engine.Model, tmp_path: Path) -> Iterator[SnapshotShelf]:
    shelf = SnapshotShelf(tmp_path, model.container.identity, model.config, model.kernels.dtype)
    yield shelf
    shelf.close()


def after(model: engine.Model, ids: list[int]) -> Snapshot:
    state = model.new_state()
    model.read(ids, state)
    return state.snapshot()


def test_the_longest_beginning_comes_back_exactly(
    model: engine.Model, shelf: SnapshotShelf
) -> None:
    short, long = after(model, IDS[:3]), after(model, IDS)
    shelf.put(IDS[:3], short)
    shelf.put(IDS, long)
    assert shelf.longest([*IDS, 1]) == 5
    assert shelf.longest(IDS[:4]) == 3
    assert shelf.longest([1, 2]) == 0
    taken = shelf.take([*IDS, 1])
    assert taken is not None
    assert taken.length == 5
    for mine, theirs in zip(taken.deltas, long.deltas, strict=True):
        assert mx.array_equal(mine.delta, theirs.delta).item()
    assert len(shelf) == 1
    assert shelf.take([9]) is None


def test_the_oldest_leave_when_the_shelf_is_full(model: engine.Model, shelf: SnapshotShelf) -> None:
    shelf.put(IDS, after(model, IDS))
    shelf.budget_bytes = shelf.nbytes * 5 // 2
    for first in (1, 2, 3):
        shelf.put([first, *IDS], after(model, [first, *IDS]))
    assert len(shelf) == 2
    assert shelf.longest(IDS) == 0
    assert shelf.longest([3, *IDS]) == 6
    assert len(list(shelf.folder.iterdir())) == 2


def test_a_damaged_file_costs_only_itself(model: engine.Model, shelf: SnapshotShelf) -> None:
    shelf.put(IDS, after(model, IDS))
    (file,) = shelf.folder.iterdir()
    file.write_bytes(file.read_bytes()[:-9])
    assert shelf.take(IDS) is None
    assert len(shelf) == 0


def test_a_disk_that_takes_nothing_costs_only_the_snapshot(
    model: engine.Model, shelf: SnapshotShelf
) -> None:
    shelf.folder.parent.mkdir(exist_ok=True)
    shelf.folder.write_text("a file stands where the folder should be")
    shelf.put(IDS, after(model, IDS))
    assert len(shelf) == 0
    shelf.folder.unlink()


def test_closing_leaves_nothing_and_the_dead_are_swept(model: engine.Model, tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left, alive = tmp_path / str(dead.pid), tmp_path / str(os.getppid())
    for folder in (left, alive):
        folder.mkdir()
        (folder / "1.safetensors").write_bytes(b"x")
    shelf = SnapshotShelf(tmp_path, model.container.identity, model.config, model.kernels.dtype)
    shelf.put(IDS, after(model, IDS))
    assert not left.exists()
    assert alive.exists()
    assert oct(shelf.folder.stat().st_mode)[-3:] == "700"
    shelf.close()
    assert not shelf.folder.exists()
    sweep(tmp_path / "missing")


def test_only_the_ends_of_conversations_are_spilled(
    model: engine.Model, shelf: SnapshotShelf
) -> None:
    cache = PrefixCache(10**9, shelf.put)
    cache.add(IDS[:3], after(model, IDS[:3]))
    cache.add(IDS, after(model, IDS))
    cache.add([1, 2], after(model, [1, 2]))
    cache.spill_old()
    assert len(cache) == 1
    assert cache.longest([1, 2]) is not None
    assert len(shelf) == 1
    assert shelf.longest(IDS) == 5
