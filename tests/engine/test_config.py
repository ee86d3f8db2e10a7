"""Both families' config.json, what their absent fields mean, and what is refused."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.config import Quantization, load_config, parse_config
from engine.errors import BadContainer, MartletError, UnsupportedModel
from tests.engine.tiny import FAMILIES, Family, make_config

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=5,
)


@pytest.mark.parametrize("family", FAMILIES)
def test_both_families_are_read(family: Family) -> None:
    config = parse_config(make_config(family))
    assert config.family == family
    assert config.linear_layers == (True, True, True, False)
    assert config.rotary_dim == 8
    assert config.rope_theta == 10_000_000.0
    assert config.conv_dim == 2 * 2 * 32 + 4 * 32
    assert config.eos_token_ids == {255}


def test_absent_norm_topk_prob_means_true() -> None:
    assert parse_config(make_config("qwen3_5_moe", norm_topk_prob=None)).norm_topk_prob
    assert not parse_config(make_config("qwen3_5_moe", norm_topk_prob=False)).norm_topk_prob


def test_end_of_sequence_ids_are_a_union_of_both_places() -> None:
    config = make_config("qwen3_5_moe")
    config["eos_token_id"] = [7, 8]
    assert parse_config(config).eos_token_ids == {7, 8, 255}


def test_a_text_model_alone_is_of_its_family() -> None:
    text = make_config("qwen3_5_moe")["text_config"]
    assert parse_config(text).family == "qwen3_5_moe"


def test_overrides_apply_with_and_without_the_prefix() -> None:
    config = make_config("qwen3_5_moe")
    config["quantization"] = {
        "bits": 4,
        "group_size": 64,
        "language_model.model.layers.0.mlp.gate": {"bits": 8, "group_size": 64},
        "language_model.lm_head": False,
    }
    parsed = parse_config(config)
    assert parsed.module_quantization("model.layers.0.mlp.gate") == Quantization(8, 64)
    assert parsed.module_quantization("model.layers.0.mlp.shared_expert.gate_proj") == (
        Quantization(4, 64)
    )
    assert parsed.module_quantization("lm_head") is None


REFUSED: list[tuple[dict[str, Any], type[MartletError], str]] = [
    ({"model_type": "llama"}, UnsupportedModel, "'llama'"),
    ({"num_experts": 0}, BadContainer, "num_experts is 0"),
    ({"hidden_size": 2.5}, BadContainer, "hidden_size is 2.5"),
    ({"hidden_size": None}, BadContainer, "hidden_size is None"),
    ({"num_experts_per_tok": 17}, BadContainer, "exceeds num_experts"),
    ({"num_key_value_heads": 3}, BadContainer, "do not divide"),
    ({"rms_norm_eps": float("nan")}, BadContainer, "not finite"),
    ({"partial_rotary_factor": 3.0}, BadContainer, "rotary dimension"),
    ({"mlp_only_layers": [1]}, UnsupportedModel, "mlp_only_layers"),
    ({"layer_types": ["full_attention"] * 4}, UnsupportedModel, "layer_types"),
    ({"quantization": {"bits": 7, "group_size": 64}}, UnsupportedModel, "7 bits"),
    ({"quantization": {"bits": 4, "group_size": 16}}, UnsupportedModel, "group 16"),
    (
        {"quantization": {"bits": 4, "group_size": 32, "mode": "mxfp4"}},
        UnsupportedModel,
        "'mxfp4'",
    ),
]


@pytest.mark.parametrize(("fields", "kind", "words"), REFUSED)
def test_what_cannot_be_run_is_refused(
    fields: dict[str, Any], kind: type[MartletError], words: str
) -> None:
    with pytest.raises(kind, match=words):
        parse_config(make_config("qwen3_next") | fields)


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_hostile_configs_end_in_an_error_of_ours(data: st.DataObject) -> None:
    config = make_config(data.draw(st.sampled_from(FAMILIES)))
    text = config.get("text_config", config)
    for key in data.draw(st.lists(st.sampled_from(sorted(text)), max_size=3)):
        text[key] = data.draw(JSON)
    config["quantization"] = data.draw(JSON)
    with contextlib.suppress(MartletError):
        parse_config(config)


def test_files_that_are_not_json_are_named(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    for text in ("", "[1]", "{", "[" * 100_000):
        path.write_text(text)
        with pytest.raises(BadContainer, match=str(path)):
            load_config(path)
    path.write_text(json.dumps(make_config("qwen3_next")))
    assert load_config(path).layer_count == 4
