"""Random models of the true layer shapes, of any size, as MLX checkpoints and containers.

    python -m tests.bench.synthetic FOLDER [--family qwen3_next] [--layers 8] [--spread 0.4]

Weights are 4-bit codes drawn evenly from 1 to 15, with an offset of -8 scales, so that other
formats can hold the same values; scaled so that activations keep their size. Routers and shared
gates are 8 bit, as in the published conversions. Random routers would ask for all evenly;
`--spread` lets some be asked for more: a router's rows are scaled by e^(spread * N(0, 1)).
State it with every figure: routing decides what a cache is worth.
"""

import argparse
import json
import math
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np

from engine.container.repack import repack

GROUP = 64


@dataclass(frozen=True, slots=True)
class Shape:
    """The true shapes of the published 35B and 80B layers, with fewer of them."""

    family: str = "qwen3_next"
    layers: int = 8
    experts: int = 256
    top_k: int = 10
    hidden: int = 2048
    intermediate: int = 512
    vocab: int = 32_768
    context: int = 32_768
    spread: float = 0.4
    seed: int = 0

    def config(self) -> dict[str, Any]:
        """The config.json."""
        text: dict[str, Any] = {
            "hidden_size": self.hidden,
            "num_hidden_layers": self.layers,
            "full_attention_interval": 4,
            "num_attention_heads": 16,
            "num_key_value_heads": 2,
            "head_dim": 256,
            "linear_num_key_heads": 16,
            "linear_num_value_heads": 32,
            "linear_key_head_dim": 128,
            "linear_value_head_dim": 128,
            "linear_conv_kernel_dim": 4,
            "num_experts": self.experts,
            "num_experts_per_tok": self.top_k,
            "norm_topk_prob": True,
            "decoder_sparse_step": 1,
            "mlp_only_layers": [],
            "intermediate_size": 5120,
            "moe_intermediate_size": self.intermediate,
            "shared_expert_intermediate_size": self.intermediate,
            "vocab_size": self.vocab,
            "max_position_embeddings": self.context,
            "rms_norm_eps": 1e-6,
            "tie_word_embeddings": False,
            "attention_bias": False,
            "eos_token_id": self.vocab - 1,
        }
        rope = {"rope_theta": 1e7, "partial_rotary_factor": 0.25}
        section: dict[str, Any] = {"group_size": GROUP, "bits": 4, "mode": "affine"}
        for layer in range(self.layers):
            for name in ("gate", "shared_expert_gate"):
                section[f"{self.prefix}model.layers.{layer}.mlp.{name}"] = {
                    "group_size": GROUP,
                    "bits": 8,
                }
        if self.family == "qwen3_next":
            return {"model_type": "qwen3_next", "quantization": section, **text, **rope}
        text |= {
            "model_type": "qwen3_5_moe_text",
            "rope_parameters": rope | {"rope_type": "default"},
        }
        return {"model_type": "qwen3_5_moe", "quantization": section, "text_config": text}

    @property
    def prefix(self) -> str:
        """What the family's tensor names begin with."""
        return "" if self.family == "qwen3_next" else "language_model."


def make_container(folder: Path, shape: Shape) -> Path:
    """`folder/model.qpack`, made unless it is there; the checkpoint stays in `folder/mlx`."""
    container = folder / "model.qpack"
    if not container.exists():
        make_checkpoint(folder / "mlx", shape)
        repack(folder / "mlx", container)
    return container


def make_checkpoint(folder: Path, shape: Shape) -> None:
    """One file a layer and one for the rest; a layer is in memory at a time."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    weight_map: dict[str, str] = {}
    for part in range(shape.layers + 1):
        tensors = dict(_layer(shape, part) if part < shape.layers else _ends(shape))
        file = f"model-{part + 1:05d}-of-{shape.layers + 1:05d}.safetensors"
        mx.save_safetensors(str(folder / file), tensors, metadata={"format": "mlx"})
        weight_map |= dict.fromkeys(tensors, file)
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": weight_map})
    )
    (folder / "config.json").write_text(json.dumps(shape.config(), indent=1))


def _ends(shape: Shape) -> Iterator[tuple[str, mx.array]]:
    draw = _Draw(shape, shape.layers)
    root = math.sqrt(shape.hidden)
    yield from draw.matrix("model.embed_tokens", (shape.vocab, shape.hidden), gain=root)
    yield from draw.matrix("lm_head", (shape.vocab, shape.hidden), gain=2.0)
    yield draw.norm("model.norm.weight", shape.hidden)


def _layer(shape: Shape, layer: int) -> Iterator[tuple[str, mx.array]]:
    draw, name = _Draw(shape, layer), f"model.layers.{layer}"
    hidden, inner, experts = shape.hidden, shape.intermediate, shape.experts
    yield draw.norm(f"{name}.input_layernorm.weight", hidden)
    yield draw.norm(f"{name}.post_attention_layernorm.weight", hidden)
    yield from (
        _attention(draw, f"{name}.self_attn", hidden)
        if (layer + 1) % 4 == 0
        else (_delta_net(draw, f"{name}.linear_attn", shape))
    )
    rows = np.exp(shape.spread * draw.random.standard_normal(experts)).astype(np.float32)
    yield from draw.matrix(f"{name}.mlp.gate", (experts, hidden), bits=8, rows=rows)
    yield from draw.matrix(f"{name}.mlp.shared_expert_gate", (1, hidden), bits=8)
    for kind, leading in (("switch_mlp", (experts,)), ("shared_expert", ())):
        for part, size in (
            ("gate_proj", (inner, hidden)),
            ("up_proj", (inner, hidden)),
            ("down_proj", (hidden, inner)),
        ):
            yield from draw.matrix(f"{name}.mlp.{kind}.{part}", (*leading, *size))


def _attention(draw: "_Draw", name: str, hidden: int) -> Iterator[tuple[str, mx.array]]:
    heads, kv_heads, dim = 16, 2, 256
    for part, size in (
        ("q_proj", (2 * heads * dim, hidden)),
        ("k_proj", (kv_heads * dim, hidden)),
        ("v_proj", (kv_heads * dim, hidden)),
        ("o_proj", (hidden, heads * dim)),
    ):
        yield from draw.matrix(f"{name}.{part}", size)
    for part in ("q_norm", "k_norm"):
        yield draw.norm(f"{name}.{part}.weight", dim)


def _delta_net(draw: "_Draw", name: str, shape: Shape) -> Iterator[tuple[str, mx.array]]:
    keys, values, heads, dim = 2048, 4096, 32, 128
    channels = 2 * keys + values
    parts = (
        {"in_proj_qkvz": channels + values, "in_proj_ba": 2 * heads}
        if shape.family == "qwen3_next"
        else {
            "in_proj_qkv": channels,
            "in_proj_z": values,
            "in_proj_b": heads,
            "in_proj_a": heads,
        }
    )
    for part, out in parts.items():
        yield from draw.matrix(f"{name}.{part}", (out, shape.hidden))
    yield from draw.matrix(f"{name}.out_proj", (shape.hidden, values))
    taps = 0.3 * draw.random.standard_normal((channels, 4, 1)).astype(np.float32)
    yield draw.plain(f"{name}.conv1d.weight", taps)
    yield draw.plain(f"{name}.dt_bias", draw.random.uniform(-4, 1, heads).astype(np.float32))
    decay = np.log(draw.random.uniform(0.5, 8, heads)).astype(np.float32)
    yield f"{shape.prefix}{name}.A_log", mx.array(decay)
    yield draw.norm(f"{name}.norm.weight", dim)


def _never_zero(words: np.ndarray, bits: int) -> np.ndarray:
    """Codes of 0 become the middle one: the mean is exactly it, and no router has favourites."""
    lowest = np.uint32(sum(1 << at for at in range(0, 32, bits)))
    joined, shift = words, bits // 2
    while shift:  # a code's lowest bit becomes the or of all of its bits
        joined = joined | (joined >> np.uint32(shift))
        shift //= 2
    return words | ((~joined & lowest) << np.uint32(bits - 1))


class _Draw:
    """Tensors of one file, from its own seed."""

    def __init__(self, shape: Shape, part: int) -> None:
        self.random = np.random.default_rng([shape.seed, part])
        self.prefix = shape.prefix

    def matrix(
        self,
        name: str,
        size: tuple[int, ...],
        *,
        bits: int = 4,
        gain: float = 1.0,
        rows: np.ndarray | None = None,
    ) -> Iterator[tuple[str, mx.array]]:
        """A quantized matrix whose products keep the size of what they are given."""
        inputs = size[-1]
        words = (*size[:-1], inputs * bits // 32)
        groups = (*size[:-1], inputs // GROUP)
        count = 2**bits
        scale = gain / math.sqrt(inputs) / (count / math.sqrt(12))
        scales = scale * self.random.uniform(0.7, 1.3, groups).astype(np.float32)
        if rows is not None:
            scales *= rows[:, None]
        codes = _never_zero(self.random.integers(0, 2**32, words, dtype=np.uint32), bits)
        yield f"{self.prefix}{name}.weight", mx.array(codes)
        rounded = np.array(mx.array(scales).astype(mx.bfloat16).astype(mx.float32))
        yield self.plain(f"{name}.scales", rounded)
        yield self.plain(f"{name}.biases", -rounded * count / 2)

    def norm(self, name: str, size: int) -> tuple[str, mx.array]:
        """Around one."""
        return self.plain(name, 1 + 0.05 * self.random.standard_normal(size).astype(np.float32))

    def plain(self, name: str, values: np.ndarray) -> tuple[str, mx.array]:
        """A tensor in bfloat16, as published checkpoints have them."""
        return f"{self.prefix}{name}", mx.array(values).astype(mx.bfloat16)


def add_shape(parser: argparse.ArgumentParser) -> None:
    """Options for `shape_of`."""
    parser.add_argument("--family", choices=("qwen3_next", "qwen3_5_moe"), default="qwen3_next")
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--experts", type=int, default=256)
    parser.add_argument("--top-k", type=int, default=10)
    parser.add_argument("--spread", type=float, default=0.4)


def shape_of(parsed: argparse.Namespace) -> Shape:
    """The shape that was asked for."""
    return Shape(
        family=parsed.family,
        layers=parsed.layers,
        experts=parsed.experts,
        top_k=parsed.top_k,
        spread=parsed.spread,
    )


def main() -> None:
    """Make a model."""
    parser = argparse.ArgumentParser(description="Make a random model of the true layer shapes.")
    parser.add_argument("folder", type=Path)
    add_shape(parser)
    parsed = parser.parse_args()
    print(make_container(parsed.folder, shape_of(parsed)))


if __name__ == "__main__":
    main()
