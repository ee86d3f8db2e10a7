"""A state's delta memory is written again token by token, and never while a snapshot holds it."""

from collections.abc import Iterator

import mlx.core as mx
import numpy as np
import pytest

from engine.errors import Cancelled
from engine.loading import load_model
from engine.model.hybrid import Model
from engine.model.state import Snapshot, State
from engine.native.core import native_core
from tests.engine.conftest import TinyModels

IDS = [3, 1, 4, 1, 5, 9, 2, 6]


@pytest.fixture(scope="module")
def model(tiny_models: TinyModels) -> Iterator[Model]:
    model = load_model(tiny_models.container("qwen3_next", bits=4), slots=5)
    yield model
    model.close()


def places(state: State) -> set[int]:
    """Where the delta states lie."""
    return {np.asarray(layer.delta).ctypes.data for layer in state.deltas}


def contents(held: State | Snapshot) -> list[bytes]:
    return [np.asarray(layer.delta).tobytes() for layer in held.deltas]


def logits(model: Model, state: State, ids: list[int]) -> list[bytes]:
    return [np.asarray(model.decode(token, state)).tobytes() for token in ids]


@pytest.mark.skipif(native_core() is None, reason="MLX takes memory as it likes")
def test_two_sets_of_delta_states_take_turns(model: Model) -> None:
    state = model.new_state()
    model.read(IDS, state)
    logits(model, state, IDS[:2])
    seen = []
    for token in IDS:
        model.decode(token, state)
        seen.append(places(state))
    assert seen == [seen[0], seen[1]] * 4
    assert not seen[0] & seen[1]


def test_the_answer_is_that_of_a_state_that_recycles_nothing(model: Model) -> None:
    ours, plain = model.new_state(), State(model.config, model.kernels.dtype)
    assert logits(model, ours, IDS * 3) == logits(model, plain, IDS * 3)
    assert contents(ours) == contents(plain)


def test_a_snapshot_keeps_what_it_holds(model: Model) -> None:
    state = model.new_state()
    taken = []
    for token in IDS * 2:
        model.decode(token, state)
        snapshot = state.snapshot()
        taken.append((snapshot, contents(snapshot)))
        logits(model, state, IDS[:3])
        assert all(contents(snapshot) == then for snapshot, then in taken)
        state.restore(snapshot)


def test_a_token_that_is_given_up_leaves_no_trace(model: Model) -> None:
    expected = logits(model, model.new_state(), IDS)
    state = model.new_state()
    got = logits(model, state, IDS[:5])
    for layers in range(1, model.config.layer_count):
        calls = iter(range(1000))
        with pytest.raises(Cancelled):
            model.decode(250, state, lambda: next(calls) >= 2 * layers)  # noqa: B023
    assert got + logits(model, state, IDS[5:]) == expected


def test_a_chunk_finds_no_second_set(model: Model) -> None:
    state = model.new_state()
    logits(model, state, IDS)
    state.reserve(2)
    assert state.spare(0) is None
    mx.eval(model.read(IDS, state))
    assert state.spare(0) is None
