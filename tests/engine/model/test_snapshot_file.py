"""Snapshots as files: exact, checked, and refused when damaged or another model's."""

from collections.abc import Iterator
from pathlib import Path

import mlx.core as mx
import pytest

from engine.loading import load_model
from engine.model.hybrid import Model
from engine.model.snapshot_file import BadSnapshot, load_snapshot, save_snapshot
from engine.model.state import Snapshot
from tests.engine.conftest import TinyModels

IDS = [int(i) for i in range(40)]


@pytest.fixture(scope="module")
def model(tiny_models: TinyModels) -> Iterator[Model]:
    loaded = load_model(tiny_models.container("qwen3_next", bits=4), slots=16)
    yield loaded
    loaded.close()


@pytest.fixture
def saved(model: Model, tmp_path: Path) -> Path:
    state = model.new_state()
    model.read(IDS[:25], state)
    state.snapshot()  # so that the saved one has a parent
    model.read(IDS[25:], state)
    path = tmp_path / "conversation.state"
    save_snapshot(path, state.snapshot(), IDS, model.container.identity)
    return path


def loaded(model: Model, path: Path, identity: str | None = None) -> tuple[Snapshot, list[int]]:
    name = model.container.identity if identity is None else identity
    return load_snapshot(path, model.config, model.kernels.dtype, name)


def test_a_file_restores_exactly(model: Model, saved: Path) -> None:
    snapshot, ids = loaded(model, saved)
    assert ids == IDS
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]
    known, fresh = model.new_state(), model.new_state()
    model.read(IDS[:25], known)
    model.read(IDS[25:], known)
    fresh.restore(snapshot)
    for token in (3, 4, 5):
        assert mx.array_equal(model.decode(token, known), model.decode(token, fresh))


def test_another_models_file_is_refused(model: Model, saved: Path) -> None:
    with pytest.raises(BadSnapshot, match="another model"):
        loaded(model, saved, identity="someone else")


def test_every_flipped_byte_of_the_data_is_seen(model: Model, saved: Path) -> None:
    whole = saved.read_bytes()
    for place in range(len(whole) - 1, len(whole) // 2, -max(1, len(whole) // 40)):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        saved.write_bytes(damaged)
        with pytest.raises(BadSnapshot):
            loaded(model, saved)


def test_truncated_empty_and_missing_files_are_refused(model: Model, saved: Path) -> None:
    whole = saved.read_bytes()
    for length in (0, 7, 8, 100, len(whole) // 2, len(whole) - 1):
        saved.write_bytes(whole[:length])
        with pytest.raises(BadSnapshot):
            loaded(model, saved)
    saved.unlink()
    with pytest.raises(BadSnapshot):
        loaded(model, saved)
