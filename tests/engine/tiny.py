"""Tiny random checkpoints of both families, saved as mlx-lm saves its own.

mlx-lm's own models and quantization make them, so that names, shapes and config overrides are the
real ones. Norms, gates and convolutions are perturbed: a weight of ones would hide a missing norm.
"""

import json
from pathlib import Path
from typing import Any, Literal

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten, tree_map_with_path

Family = Literal["qwen3_next", "qwen3_5_moe"]
FAMILIES: tuple[Family, ...] = ("qwen3_next", "qwen3_5_moe")

_DIMS: dict[str, Any] = {
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "full_attention_interval": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 32,
    "linear_value_head_dim": 32,
    "linear_conv_kernel_dim": 4,
    "num_experts": 16,
    "num_experts_per_tok": 4,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "moe_intermediate_size": 64,
    "shared_expert_intermediate_size": 64,
    "intermediate_size": 128,
    "vocab_size": 256,
    "rms_norm_eps": 1e-6,
    "max_position_embeddings": 512,
    "tie_word_embeddings": False,
    "attention_bias": False,
    "eos_token_id": 255,
}
_ROPE = {"rope_theta": 10_000_000.0, "partial_rotary_factor": 0.25}


def make_config(
    family: Family = "qwen3_next", *, norm_topk_prob: bool | None = True, **dims: Any
) -> dict[str, Any]:
    """A config.json: flat or nested as the family's are; `None` leaves norm_topk_prob out."""
    text = _DIMS | dims
    if norm_topk_prob is not None:
        text["norm_topk_prob"] = norm_topk_prob
    if family == "qwen3_next":
        return (
            {"model_type": "qwen3_next", "architectures": ["Qwen3NextForCausalLM"]} | text | _ROPE
        )
    rope = {"rope_type": "default", "mrope_section": [2, 1, 1], "mrope_interleaved": True} | _ROPE
    text |= {"model_type": "qwen3_5_moe_text", "rope_parameters": rope}
    return {
        "model_type": "qwen3_5_moe",
        "architectures": ["Qwen3_5MoeForConditionalGeneration"],
        "tie_word_embeddings": text["tie_word_embeddings"],
        "text_config": text,
    }


def make_checkpoint(
    path: Path,
    family: Family = "qwen3_next",
    *,
    bits: int | Literal["mixed"] | None = 4,
    group_size: int = 64,
    seed: int = 0,
    dtype: mx.Dtype = mx.float32,
    norm_topk_prob: bool | None = True,
    shards: int = 1,
    prefix: str | None = None,
    **dims: Any,
) -> Path:
    """Write a checkpoint folder and return it.

    `bits` None: plain floats; "mixed": 8 bits but for the experts, which an override sets to 4.
    `dtype`: of scales, norms and unquantized weights. `prefix` replaces the family's own (""
    for qwen3_next, "language_model." for qwen3_5_moe). `dims` replace fields of the config.
    """
    config = make_config(family, norm_topk_prob=norm_topk_prob, **dims)
    model = make_model(config, seed=seed, dtype=dtype)
    if bits is not None:
        config |= _quantize(model, bits, group_size)
    tensors = dict(tree_flatten(model.parameters()))
    if prefix is not None:
        tensors = {prefix + name.removeprefix("language_model."): t for name, t in tensors.items()}
    path.mkdir(parents=True, exist_ok=True)
    save_tensors(path, tensors, shards)
    (path / "config.json").write_text(json.dumps(config, indent=1))
    eos = {"eos_token_id": [255, 254], "temperature": 0.7, "top_k": 20}
    (path / "generation_config.json").write_text(json.dumps(eos))
    (path / "chat_template.jinja").write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
    return path


def make_model(config: dict[str, Any], *, seed: int = 0, dtype: mx.Dtype = mx.float32) -> nn.Module:
    """mlx-lm's model for `config` with seeded, perturbed weights, evaluated."""
    from mlx_lm.models import qwen3_5_moe, qwen3_next

    module = qwen3_next if config["model_type"] == "qwen3_next" else qwen3_5_moe
    model = module.Model(module.ModelArgs.from_dict(config))
    key = mx.random.key(seed)

    def draw(name: str, old: mx.array) -> mx.array:
        nonlocal key
        key, mine = mx.random.split(key)
        new = _draw(name, old, mine)
        return new if name.endswith("A_log") else new.astype(dtype)

    model.update(tree_map_with_path(draw, model.parameters()))
    mx.eval(model.parameters())
    return model


def _draw(name: str, old: mx.array, key: mx.array) -> mx.array:
    noise = mx.random.normal(old.shape, key=key)
    if name.endswith("A_log"):
        return mx.log(mx.random.uniform(0.5, 8.0, old.shape, key=key))
    if name.endswith("dt_bias"):
        return noise
    if old.ndim == 1:
        return 1.0 + 0.2 * noise
    if "conv1d" in name:
        return 0.5 * noise
    if "embed_tokens" in name:
        return noise
    return noise * (1.5 / old.shape[-1] ** 0.5)


def _quantize(
    model: nn.Module, bits: int | Literal["mixed"], group_size: int
) -> dict[str, dict[str, Any]]:
    """Quantize in place as mlx-lm does; the entries that its config.json then has."""
    default = 8 if bits == "mixed" else bits
    section: dict[str, Any] = {"group_size": group_size, "bits": default, "mode": "affine"}

    def predicate(name: str, module: nn.Module) -> bool | dict[str, Any]:
        if not hasattr(module, "to_quantized"):
            return False
        chosen = model.quant_predicate(name, module)
        if bits == "mixed" and "switch_mlp" in name:
            chosen = {"group_size": group_size, "bits": 4}
        if isinstance(chosen, dict):
            section[name] = chosen
        return chosen

    nn.quantize(model, group_size, default, class_predicate=predicate)
    mx.eval(model.parameters())
    return {"quantization": section, "quantization_config": section}


def save_tensors(path: Path, tensors: dict[str, mx.array], shards: int = 1) -> None:
    """Write `tensors` as one safetensors file, or as `shards` files with an index."""
    names = list(tensors)
    if shards == 1:
        mx.save_safetensors(str(path / "model.safetensors"), tensors, metadata={"format": "mlx"})
        return
    weight_map = {}
    for i in range(shards):
        file = f"model-{i + 1:05d}-of-{shards:05d}.safetensors"
        part = {name: tensors[name] for name in names[i::shards]}
        mx.save_safetensors(str(path / file), part, metadata={"format": "mlx"})
        weight_map |= dict.fromkeys(part, file)
    total = sum(t.nbytes for t in tensors.values())
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (path / "model.safetensors.index.json").write_text(json.dumps(index))
