"""Checkpoints: every form that mlx-lm's conversions come in, and what is refused."""

import json
import shutil
from pathlib import Path

import mlx.core as mx
import pytest

from engine.container.checkpoint import INDEX, open_checkpoint
from engine.container.inventory import required_tensors
from engine.container.repack import repack
from engine.errors import BadCheckpoint, ModelNotFound, UnsupportedModel
from tests.engine.tiny import FAMILIES, make_checkpoint, save_tensors


@pytest.fixture
def source(tmp_path) -> Path:
    """A checkpoint that a test may damage."""
    return make_checkpoint(tmp_path / "source", bits=None)


def rewrite(folder: Path, change) -> None:
    """Replace the weights by what `change` makes of the dictionary."""
    tensors = dict(mx.load(str(folder / "model.safetensors")))
    mx.eval(tensors)
    save_tensors(folder, change(tensors))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("prefix", ["", "language_model.", "model.language_model.model."])
def test_prefixes_are_stripped(family, prefix, tmp_path):
    if prefix.startswith("model."):  # the wrapper's name stands within the model's
        prefix = "model.language_model."
    source = make_checkpoint(tmp_path / "source", family, bits=4, prefix=prefix)
    if prefix == "model.language_model.":
        rewrite(source, lambda tensors: {
            name.replace("model.language_model.model.", "model.language_model.")
                .replace("model.language_model.lm_head", "lm_head"): tensor
            for name, tensor in tensors.items()
        })  # fmt: skip
    checkpoint = open_checkpoint(source)
    assert set(required_tensors(checkpoint.config)) <= set(checkpoint.tensors)
    repack(source, tmp_path / "packed")


def test_shards_without_an_index(tmp_path):
    source = make_checkpoint(tmp_path / "source", bits=4, shards=3)
    with_index = set(open_checkpoint(source).tensors)
    (source / INDEX).unlink()
    assert set(open_checkpoint(source).tensors) == with_index


def test_vision_and_prediction_heads_are_dropped(source, tmp_path):
    more = {name: mx.zeros(4) for name in ("vision_tower.a", "mtp.b", "language_model.mtp.c")}
    rewrite(source, lambda tensors: tensors | more)
    packed = repack(source, tmp_path / "packed")
    assert not any("vision" in name or "mtp" in name for name in packed.dense)
    assert packed.warnings == ()


def test_the_source_is_named_by_its_folder(source):
    assert open_checkpoint(source).name == "source"
    assert open_checkpoint(source).model_type == "qwen3_next"


def test_raw_experts_are_refused(source):
    def unstack(tensors):
        name = "model.layers.0.mlp.switch_mlp.up_proj.weight"
        stacked = tensors.pop(name)
        one = {f"model.layers.0.mlp.experts.{e}.up_proj.weight": stacked[e] for e in range(16)}
        return tensors | one

    rewrite(source, unstack)
    with pytest.raises(UnsupportedModel, match=r"not stacked.*mlx_lm\.convert"):
        open_checkpoint(source)


def test_raw_fused_experts_are_refused(source):
    rewrite(source, lambda t: t | {"model.layers.0.mlp.experts.gate_up_proj": mx.zeros((2, 2))})
    with pytest.raises(UnsupportedModel, match="not stacked"):
        open_checkpoint(source)


def test_untransposed_convolutions_are_refused(source):
    name = "model.layers.0.linear_attn.conv1d.weight"
    rewrite(source, lambda tensors: tensors | {name: tensors[name].moveaxis(1, 2)})
    with pytest.raises(UnsupportedModel, match="not transposed"):
        open_checkpoint(source)


@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16, mx.float16])
def test_zero_centred_norms_are_refused(dtype, source):
    def centre(tensors):
        return {
            name: (t - 1).astype(dtype) if "norm.weight" in name and "linear" not in name else t
            for name, t in tensors.items()
        }

    rewrite(source, centre)
    with pytest.raises(UnsupportedModel, match="centred on zero"):
        open_checkpoint(source)


def test_no_folder(tmp_path):
    with pytest.raises(ModelNotFound):
        open_checkpoint(tmp_path / "nothing")


def test_no_weights(source):
    (source / "model.safetensors").unlink()
    with pytest.raises(BadCheckpoint, match="no model"):
        open_checkpoint(source)


def test_a_container_is_not_a_source(tiny_models):
    with pytest.raises(BadCheckpoint, match="container already"):
        open_checkpoint(tiny_models.container("qwen3_next"))


@pytest.fixture
def sharded(tmp_path) -> Path:
    """A sharded checkpoint that a test may damage."""
    return make_checkpoint(tmp_path / "sharded", bits=4, shards=3)


def test_a_missing_shard_is_named(sharded):
    (sharded / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(BadCheckpoint, match=r"model-00002-of-00003\.safetensors is missing"):
        open_checkpoint(sharded)


def test_a_shard_that_lacks_what_the_index_names(sharded):
    shutil.copy(
        sharded / "model-00001-of-00003.safetensors", sharded / "model-00002-of-00003.safetensors"
    )
    with pytest.raises(BadCheckpoint, match="lacks"):
        open_checkpoint(sharded)


@pytest.mark.parametrize("weight_map", [None, [], {"a": 5}, {"a": "../x.safetensors"}])
def test_a_hostile_index(weight_map, sharded):
    (sharded / INDEX).write_text(json.dumps({"weight_map": weight_map}))
    with pytest.raises(BadCheckpoint):
        open_checkpoint(sharded)


def test_a_tensor_in_two_shards(sharded):
    shutil.copy(sharded / "model-00001-of-00003.safetensors", sharded / "model-x.safetensors")
    (sharded / INDEX).unlink()
    with pytest.raises(BadCheckpoint, match="hold"):
        open_checkpoint(sharded)


def test_a_truncated_shard(sharded):
    path = sharded / "model-00003-of-00003.safetensors"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(BadCheckpoint, match="offsets"):
        open_checkpoint(sharded)


@pytest.mark.parametrize("layer", [0, 3])
def test_a_layer_without_experts_is_named(layer, source, tmp_path):
    rewrite(source, lambda tensors: {
        name: t for name, t in tensors.items() if f"layers.{layer}.mlp.switch_mlp" not in name
    })  # fmt: skip
    with pytest.raises(BadCheckpoint, match=f"experts of layer {layer}"):
        repack(source, tmp_path / "packed")


def test_a_missing_projection_is_named(source, tmp_path):
    rewrite(source, lambda tensors: {
        name: t for name, t in tensors.items() if "switch_mlp.up_proj" not in name
    })  # fmt: skip
    with pytest.raises(BadCheckpoint, match="up_proj lacks weight"):
        repack(source, tmp_path / "packed")


def test_another_number_of_experts(source, tmp_path):
    name = "model.layers.1.mlp.switch_mlp.up_proj.weight"
    rewrite(source, lambda tensors: tensors | {name: tensors[name][:8]})
    with pytest.raises(BadCheckpoint, match="16 experts"):
        repack(source, tmp_path / "packed")


def test_one_unquantized_layer_is_named(tmp_path):
    source = make_checkpoint(tmp_path / "source", bits=4)
    plain = mx.load(str(make_checkpoint(tmp_path / "plain", bits=None) / "model.safetensors"))
    marker = "layers.1.mlp.switch_mlp"
    rewrite(source, lambda tensors: {n: t for n, t in tensors.items() if marker not in n}
            | {n: t for n, t in plain.items() if marker in n})  # fmt: skip
    with pytest.raises(UnsupportedModel, match="unquantized in layer 1"):
        repack(source, tmp_path / "packed")
