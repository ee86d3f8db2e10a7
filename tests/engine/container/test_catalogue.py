"""The catalogue that is shipped: complete, true to the planner, and read without a network."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import mlx.core as mx
import pytest

from engine.config import parse_config
from engine.container import catalogue
from engine.container.catalogue import Entry, find_entry, load_catalogue
from engine.container.layout import build_layout
from engine.memory.plan import plan_memory
from engine.model.plain import PlainKernels
from engine.records import BadRecord, from_json

ENTRIES = load_catalogue().models


def test_the_file_is_of_the_version_we_read() -> None:
    assert load_catalogue().version == catalogue.VERSION


def test_it_holds_the_published_containers_and_their_checkpoints() -> None:
    kinds = {(entry.family, entry.kind, entry.bits) for entry in ENTRIES}
    for family, bits in (("qwen3_5_moe", 4), ("qwen3_5_moe", 8), ("qwen3_next", 4)):
        assert (family, "container", bits) in kinds
        assert (family, "checkpoint", bits) in kinds


def test_ids_are_told_apart() -> None:
    ids = [entry.id for entry in ENTRIES]
    assert len(set(ids)) == len(ids)
    assert all(id == id.lower() and "/" not in id for id in ids)
    assert find_entry(ids[0]) is ENTRIES[0]
    assert find_entry("no-such-model") is None


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_an_entry_makes_sense(entry: Entry) -> None:
    owner, _, name = entry.source.partition("/")
    assert owner
    assert name
    assert "/" not in name
    for mirror in entry.mirrors:
        assert urlsplit(mirror).scheme == "https"
    assert entry.licence
    assert entry.good_at
    assert entry.bits in (4, 8)
    assert entry.context_length == 262_144
    experts = entry.shape.row_bytes * entry.shape.expert_count
    assert entry.shape.disk_bytes == experts + entry.shape.dense_bytes
    assert 0.95 < entry.download_bytes / entry.shape.disk_bytes < 1.1


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_its_memory_is_what_the_planner_says(entry: Entry, tmp_path: Path) -> None:
    config = parse_config(published_config(entry))
    shapes = expert_shapes(entry)
    layout = build_layout(config, shapes)
    tokenizer = 20_000_000 if entry.family == "qwen3_5_moe" else 11_400_000
    (tmp_path / "tokenizer.json").write_bytes(bytes(tokenizer))
    container: Any = SimpleNamespace(
        config=config,
        layout=layout,
        resident_bytes=entry.shape.dense_bytes - entry.shape.embedding_bytes,
        path=tmp_path,
    )
    floor = config.experts_per_token
    plan = plan_memory(container, slots=floor, kernels=PlainKernels(mx.bfloat16))
    assert entry.floor_bytes == pytest.approx(plan.total_bytes, rel=0.05)
    assert entry.shape.expert_bytes == layout.stride


def expert_shapes(entry: Entry) -> dict[str, tuple[str, tuple[int, ...]]]:
    hidden, inner = 2048, 512
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {}
    for name, (rows, columns) in {
        "gate_proj": (inner, hidden), "up_proj": (inner, hidden), "down_proj": (hidden, inner)
    }.items():  # fmt: skip
        shapes[f"{name}.weight"] = ("U32", (rows, columns * entry.bits // 32))
        shapes[f"{name}.scales"] = shapes[f"{name}.biases"] = ("BF16", (rows, columns // 64))
    return shapes


def published_config(entry: Entry) -> dict[str, Any]:
    """What the models' own config.json files say."""
    small = entry.family == "qwen3_5_moe"
    text = {
        "num_hidden_layers": 40 if small else 48,
        "num_experts": 256 if small else 512,
        "num_experts_per_tok": 8 if small else 10,
        "vocab_size": 248_320 if small else 151_936,
        "hidden_size": 2048,
        "num_attention_heads": 16,
        "num_key_value_heads": 2,
        "head_dim": 256,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 32,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
        "moe_intermediate_size": 512,
        "shared_expert_intermediate_size": 512,
        "full_attention_interval": 4,
        "rms_norm_eps": 1e-6,
        "max_position_embeddings": 262_144,
        "tie_word_embeddings": False,
    }
    rope = {"rope_theta": 1e7, "partial_rotary_factor": 0.25}
    quantization = {"quantization": {"group_size": 64, "bits": entry.bits, "mode": "affine"}}
    if not small:
        return {"model_type": "qwen3_next", **text, **rope, **quantization}
    text |= {"model_type": "qwen3_5_moe_text", "rope_parameters": rope}
    return {"model_type": "qwen3_5_moe", "text_config": text, **quantization}


def test_a_file_with_a_wrong_field_is_refused() -> None:
    """So that a slip in the shipped file fails here and not at somebody's start."""
    data = json.loads(catalogue.CATALOGUE.read_text())
    data["models"][0]["colour"] = "blue"
    with pytest.raises(BadRecord, match="colour"):
        from_json(catalogue.Catalogue, data)
