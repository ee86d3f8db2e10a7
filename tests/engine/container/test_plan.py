"""The plan: any cut of the source's bytes lands in the same places."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.config import parse_config
from engine.container.checkpoint import open_checkpoint
from engine.container.container import DENSE
from engine.container.plan import Move, RepackPlan, make_plan
from engine.errors import BadContainer
from tests.engine.tiny import make_config

FUZZ = settings(deadline=None, max_examples=200)


@pytest.fixture
def plan(tiny_models) -> RepackPlan:
    """The plan of a sharded checkpoint."""
    checkpoint = open_checkpoint(tiny_models.checkpoint("qwen3_next", shards=3))
    return make_plan(checkpoint.config, checkpoint.tensors)


def test_pieces_land_one_step_apart():
    move = Move("s", 100, 30, "t", 1000, piece=10, step=64)
    assert list(move.pieces(0, 999)) == [(1000, 100, 110), (1064, 110, 120), (1128, 120, 130)]
    assert list(move.pieces(105, 112)) == [(1005, 105, 110), (1064, 110, 112)]
    assert list(move.pieces(130, 140)) == []
    assert list(move.pieces(0, 100)) == []


@FUZZ
@given(
    piece=st.integers(1, 9),
    count=st.integers(1, 6),
    padding=st.integers(0, 5),
    cuts=st.lists(st.integers(0, 70), max_size=8),
)
def test_any_cut_gives_the_same_bytes(piece, count, padding, cuts):
    source = bytes(range(10, 10 + piece * count))
    move = Move("s", 10, len(source), "t", 3, piece, piece + padding)
    whole = bytearray(3 + count * (piece + padding))
    cut = bytearray(whole)
    for target, start, stop in move.pieces(0, 100):
        whole[target : target + stop - start] = source[start - 10 : stop - 10]
    edges = [0, *sorted(cuts), 100]
    for low, high in pairwise(edges):
        for target, start, stop in move.pieces(low, high):
            cut[target : target + stop - start] = source[start - 10 : stop - 10]
    assert cut == whole
    assert sum(stop - start for _, start, stop in move.pieces(0, 100)) == len(source)


def test_every_byte_of_every_file_has_one_source(plan):
    written = {name: bytearray(size) for name, size in plan.sizes.items()}
    for moves in plan.moves.values():
        for move in moves:
            for target, start, stop in move.pieces(0, 1 << 40):
                assert not any(written[move.target][target : target + stop - start])
                written[move.target][target : target + stop - start] = b"\1" * (stop - start)
    assert written[DENSE] == bytes(len(plan.dense_start)) + b"\1" * (
        plan.sizes[DENSE] - len(plan.dense_start)
    )
    payload = b"\1" * plan.layout.payload
    blob = payload + bytes(plan.layout.stride - len(payload))
    layers = [data for name, data in written.items() if name != DENSE]
    assert layers == [blob * plan.layout.expert_count] * plan.layout.layer_count


def test_ranges_cover_the_moves_and_nothing_twice(plan):
    for source, moves in plan.moves.items():
        ranges = plan.ranges(source)
        assert sum(stop - start for start, stop in ranges) == sum(move.size for move in moves)
        assert len(ranges) == 1  # nothing between the tensors of these files
        middle = moves[len(moves) // 2].offset + 1
        assert plan.ranges(source, middle) == [(middle, ranges[0][1])]
        assert plan.ranges(source, ranges[0][1]) == []


def test_moves_within_finds_exactly_the_moves_of_a_range(plan):
    for source, moves in plan.moves.items():
        for start, stop in [(0, 1), (500, 501), (1000, 90_000), (0, 1 << 40)]:
            expected = [m for m in moves if m.offset < stop and m.end > start]
            found = [m for m in plan.moves_within(source, start, stop) if m.end > start]
            assert found == expected


def test_the_fingerprint_is_of_this_plan_alone(plan, tiny_models):
    again = open_checkpoint(tiny_models.checkpoint("qwen3_next", shards=3))
    assert make_plan(again.config, again.tensors).fingerprint() == plan.fingerprint()
    other = open_checkpoint(tiny_models.checkpoint("qwen3_next", shards=4))
    assert make_plan(other.config, other.tensors).fingerprint() != plan.fingerprint()


def test_the_dense_file_has_bare_names(tiny_models):
    checkpoint = open_checkpoint(tiny_models.checkpoint("qwen3_5_moe"))
    header = make_plan(checkpoint.config, checkpoint.tensors).dense_start
    assert b'"model.norm.weight"' in header
    assert b"language_model" not in header


def test_nothing_to_plan():
    with pytest.raises(BadContainer, match=r"lacks the tensor model\.norm\.weight"):
        make_plan(parse_config(make_config("qwen3_next")), {})


def test_a_plan_opens_no_file(tiny_models, monkeypatch):
    checkpoint = open_checkpoint(tiny_models.checkpoint("qwen3_next"))

    def opened(*args, **kwargs):
        raise AssertionError("a file was opened")

    monkeypatch.setattr(Path, "open", opened)
    monkeypatch.setattr("os.open", opened)
    make_plan(checkpoint.config, checkpoint.tensors)
