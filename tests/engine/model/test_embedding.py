"""Rows read from the file are the table's, for any ids; and a disk that fails is told in words."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine
from engine.container.container import EMBEDDING, Container, open_container
from engine.container.dense import load_dense
from engine.container.repack import repack
from engine.errors import ReadFailed
from engine.loading import default_kernels
from engine.model.embedding import StoredTable
from engine.model.weights import linear
from tests.engine.conftest import TinyModels
from tests.engine.tiny import make_checkpoint

FORMS = ({"bits": None}, {"bits": 4}, {"bits": 8, "dtype": mx.bfloat16, "group_size": 64})
VOCABULARY = 256


@pytest.fixture(scope="module", params=FORMS, ids=str)
def container(request: pytest.FixtureRequest, tiny_models: TinyModels) -> Container:
    return open_container(tiny_models.container("qwen3_next", **request.param))


@settings(deadline=None, max_examples=30)
@given(ids=st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=40))
def test_rows_are_the_resident_tables(container: Container, ids: list[int]) -> None:
    kernels = default_kernels()
    resident = linear(load_dense(container), EMBEDDING, container.config)
    expected = kernels.embed(resident, mx.array(ids, mx.uint32))
    assert mx.array_equal(StoredTable(container).embed(kernels, ids), expected).item()


@pytest.mark.parametrize("ids", [[VOCABULARY], [0, -1]])
def test_an_id_outside_the_table_is_a_bug(container: Container, ids: list[int]) -> None:
    with pytest.raises(IndexError, match="of 256 rows"):
        StoredTable(container).embed(default_kernels(), ids)


def test_the_plan_and_the_memory_leave_it_out(container: Container) -> None:
    table = sum(container.dense[name].size for name in container.stored)
    assert table > 0
    assert container.resident_bytes == container.dense_bytes - table
    loaded = load_dense(container, container.stored)
    assert sum(tensor.nbytes for tensor in loaded.values()) == container.resident_bytes


def test_a_tied_output_keeps_the_table(tmp_path: Path) -> None:
    source = make_checkpoint(tmp_path / "source", tie_word_embeddings=True)
    container = repack(source, tmp_path / "packed")
    assert container.stored == ()
    assert container.resident_bytes == container.dense_bytes
    model = engine.load_model(container.path, slots=8)
    assert model.head is model.embedding
    assert model.read([1, 2, 3], model.new_state()).shape == (VOCABULARY,)
    model.close()


def test_a_disk_that_fails_is_tried_once_more_and_then_told(
    container: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, kernels = StoredTable(container), default_kernels()
    right = table.embed(kernels, [7])
    faults = [OSError(5, "Input/output error")]
    real = os.preadv

    def failing(fd: int, views: Sequence[Any], at: int) -> int:
        if faults:
            raise faults.pop()
        return real(fd, views, at)

    monkeypatch.setattr(os, "preadv", failing)
    assert mx.array_equal(table.embed(kernels, [7]), right).item()
    faults += [OSError(5, "Input/output error")] * 2
    with pytest.raises(ReadFailed, match=r"words' vectors .*Input/output error") as told:
        table.embed(kernels, [7])
    assert told.value.path == container.dense_path
    assert told.value.size > 0
    assert told.value.remedy


def test_a_file_that_has_gone_costs_the_token_only(tiny_models: TinyModels, tmp_path: Path) -> None:
    container = repack(tiny_models.checkpoint("qwen3_next"), tmp_path / "packed")
    model = engine.load_model(container.path, slots=8)
    state = model.new_state()
    model.read([1, 2, 3], state)
    content = container.dense_path.read_bytes()
    os.truncate(container.dense_path, 0)
    with pytest.raises(ReadFailed, match="ends before byte"):
        model.decode(4, state)
    assert state.length == 3
    container.dense_path.write_bytes(content)
    model.decode(4, state)
    assert state.length == 4
    model.close()
