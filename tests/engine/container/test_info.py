"""Figures of a container, and their JSON."""

import json

import mlx.core as mx

from engine.container.container import open_container
from engine.container.info import describe, slot_counts
from engine.model.plain import PlainKernels


def test_figures(tiny_models):
    container = open_container(tiny_models.container("qwen3_5_moe", bits="mixed", group_size=32))
    info = describe(container, kernels=PlainKernels(mx.float32))
    assert (info.family, info.layer_count, info.linear_layer_count) == ("qwen3_5_moe", 4, 3)
    assert (info.expert_count, info.experts_per_token) == (16, 4)
    assert (info.expert_bits, info.expert_group_size, info.dense_bits) == (4, 32, 8)
    assert info.experts_bytes == 4 * 16 * info.expert_bytes
    assert info.dense_bytes < info.dense_file_bytes
    assert info.dense_file_bytes + info.experts_bytes < info.total_bytes
    assert info.context_length == 512


def test_memory_grows_by_the_slots_but_for_staging(tiny_models):
    container = open_container(tiny_models.container("qwen3_next"))
    assert slot_counts(container) == [4, 8, 16]
    rows = describe(container, kernels=PlainKernels(mx.float32)).memory
    assert [row.slots for row in rows] == [4, 8, 16]
    for row in rows:
        assert row.slot_bytes == row.slots * 4 * container.layout.payload
        assert row.total_bytes > row.slot_bytes + container.dense_bytes
    besides = [row.total_bytes - row.slot_bytes for row in rows]
    assert besides[0] == besides[1] > besides[2]  # with every expert in a slot, nothing is staged


def test_json_is_plain(tiny_models):
    info = describe(
        open_container(tiny_models.container("qwen3_next", bits=None)),
        kernels=PlainKernels(mx.bfloat16),
    )
    data = json.loads(json.dumps(info.to_json()))
    assert data["expert_bits"] == data["dense_bits"] == 0
    assert data["memory"][0]["slots"] == 4
    assert data["warnings"] == []
