"""A random model's checkpoint as GGUF with the same values, for llama.cpp.

    uv run --with gguf python -m tests.bench.gguf_model CHECKPOINT FILE

`tests.bench.synthetic` draws codes of 1 to 15 and an offset of -8 scales, which is what Q4_0 has:
18 bytes for 32 weights against MLX's 36 for 64. Routers and norms are float32. The names and the
key heads' order are those of llama.cpp's `qwen3next`, which takes fused projections apart as we do.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import mlx.core as mx
import numpy as np

KEY_HEADS, KEY, VALUES = 16, 128, 256  # a key head's rows: q, k, and v and z of its value heads
LAYER_NAMES = {
    "input_layernorm.weight": "attn_norm.weight",
    "post_attention_layernorm.weight": "post_attention_norm.weight",
    "linear_attn.in_proj_ba": "ssm_ba.weight",
    "linear_attn.conv1d.weight": "ssm_conv1d.weight",
    "linear_attn.A_log": "ssm_a",
    "linear_attn.dt_bias": "ssm_dt.bias",
    "linear_attn.norm.weight": "ssm_norm.weight",
    "linear_attn.out_proj": "ssm_out.weight",
    "self_attn.q_proj": "attn_q.weight",
    "self_attn.k_proj": "attn_k.weight",
    "self_attn.v_proj": "attn_v.weight",
    "self_attn.o_proj": "attn_output.weight",
    "self_attn.q_norm.weight": "attn_q_norm.weight",
    "self_attn.k_norm.weight": "attn_k_norm.weight",
    "mlp.gate": "ffn_gate_inp.weight",
    "mlp.shared_expert_gate": "ffn_gate_inp_shexp.weight",
    "mlp.switch_mlp.gate_proj": "ffn_gate_exps.weight",
    "mlp.switch_mlp.up_proj": "ffn_up_exps.weight",
    "mlp.switch_mlp.down_proj": "ffn_down_exps.weight",
    "mlp.shared_expert.gate_proj": "ffn_gate_shexp.weight",
    "mlp.shared_expert.up_proj": "ffn_up_shexp.weight",
    "mlp.shared_expert.down_proj": "ffn_down_shexp.weight",
}
END_NAMES = {
    "model.embed_tokens": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head": "output.weight",
}
FUSED = "linear_attn.in_proj_qkvz"
Q4_0 = gguf.GGMLQuantizationType.Q4_0


def convert(checkpoint: Path, target: Path) -> None:
    """Write `target`; the tensors wait in a file beside it, not in memory."""
    config = json.loads((checkpoint / "config.json").read_text())
    writer = gguf.GGUFWriter(str(target), "qwen3next", use_temp_file=True)
    _describe(writer, config)
    for file in sorted(checkpoint.glob("*.safetensors")):
        for name, data in _tensors(mx.load(str(file))):
            raw = Q4_0 if data.dtype == np.uint8 else None
            writer.add_tensor(name, data, raw_dtype=raw)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _describe(writer: Any, config: dict[str, Any]) -> None:
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_rope_dimension_count(int(config["head_dim"] * config["partial_rotary_factor"]))
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_expert_count(config["num_experts"])
    writer.add_expert_used_count(config["num_experts_per_tok"])
    writer.add_expert_feed_forward_length(config["moe_intermediate_size"])
    writer.add_expert_shared_feed_forward_length(config["shared_expert_intermediate_size"])
    writer.add_ssm_conv_kernel(config["linear_conv_kernel_dim"])
    writer.add_ssm_state_size(config["linear_key_head_dim"])
    writer.add_ssm_group_count(config["linear_num_key_heads"])
    writer.add_ssm_time_step_rank(config["linear_num_value_heads"])
    values = config["linear_num_value_heads"] * config["linear_value_head_dim"]
    writer.add_ssm_inner_size(values)
    writer.add_full_attention_interval(config["full_attention_interval"])
    writer.add_quantization_version(2)
    _add_vocabulary(writer, config["vocab_size"])


def _add_vocabulary(writer: Any, size: int) -> None:
    """Ids are given, so any will do that loads: the bytes, an end, and fillers."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    letters = {byte: chr(byte) for byte in plain} | {b: chr(256 + i) for i, b in enumerate(others)}
    tokens = [letters[byte] for byte in range(256)] + ["ab", "<|endoftext|>"]
    tokens += [f"[{i}]" for i in range(len(tokens), size)]
    normal, control, unused = 1, 3, 5
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([normal] * 257 + [control] + [unused] * (size - 258))
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(257)
    writer.add_add_bos_token(False)


def _tensors(given: dict[str, mx.array]) -> Iterator[tuple[str, np.ndarray]]:
    """By llama.cpp's names: float32, or the bytes of Q4_0 blocks."""
    for name in given:
        if name.endswith((".scales", ".biases")):
            continue
        module = name.removesuffix(".weight")
        quantized = f"{module}.scales" in given
        data = _matrix(given, module) if quantized else _plain(name, given[name])
        yield from _named(module if quantized else name, data)


def _named(name: str, data: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    if name in END_NAMES:
        yield END_NAMES[name], data
        return
    _, _, layer, part = name.split(".", 3)
    if part == FUSED:
        q_k_v, z = _taken_apart(data)
        yield f"blk.{layer}.attn_qkv.weight", q_k_v
        yield f"blk.{layer}.attn_gate.weight", z
    else:
        yield f"blk.{layer}.{LAYER_NAMES[part]}", data


def _plain(name: str, tensor: mx.array) -> np.ndarray:
    values = np.array(tensor.astype(mx.float32))
    if name.endswith("A_log"):
        return np.asarray(-np.exp(values))
    return values[..., 0] if name.endswith("conv1d.weight") else values


def _matrix(given: dict[str, mx.array], module: str) -> np.ndarray:
    """A router's values, or Q4_0 blocks."""
    words = np.array(given[f"{module}.weight"])
    scales = np.array(given[f"{module}.scales"].astype(mx.float32))
    if words.shape[-1] * 4 == scales.shape[-1] * 64:  # 8 bits
        biases = np.array(given[f"{module}.biases"].astype(mx.float32))
        codes = words.view(np.uint8).reshape(*scales.shape, 64)
        values = (codes * scales[..., None] + biases[..., None]).reshape(*scales.shape[:-1], -1)
        return values[0] if module.endswith("shared_expert_gate") else values
    return _q4_0(words, scales)


def _q4_0(words: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Blocks of 32: the scale, then bytes of weight i and weight i + 16."""
    *leading, groups = scales.shape
    pairs = words.view(np.uint8).reshape(*leading, groups * 2, 16)
    first, second = pairs[..., :8], pairs[..., 8:]
    blocks = np.empty((*leading, groups * 2, 18), np.uint8)
    halves = scales.astype(np.float16).repeat(2, axis=-1)
    blocks[..., :2] = halves[..., None].view(np.uint8)
    blocks[..., 2::2] = (first & 15) | (second << 4)
    blocks[..., 3::2] = (first >> 4) | (second & 0xF0)
    return blocks.reshape(*leading, groups * 36)


def _taken_apart(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    heads = rows.reshape(KEY_HEADS, -1, rows.shape[-1])
    ends = np.cumsum([KEY, KEY, VALUES])
    q, k, v, z = (part.reshape(-1, rows.shape[-1]) for part in np.split(heads, ends, axis=1))
    return np.concatenate([q, k, v]), z


def main() -> None:
    """Convert."""
    parser = argparse.ArgumentParser(description="Write a random model as GGUF.")
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("file", type=Path)
    parsed = parser.parse_args()
    convert(parsed.checkpoint, parsed.file)


if __name__ == "__main__":
    main()
