"""ModelConfig: both config.json families (`qwen3_next`, `qwen3_5_moe`), read once and validated.

`qwen3_next` is flat; `qwen3_5_moe` nests the text model under `text_config` (a checkpoint cut down
to text may be flat, with model_type `qwen3_5_moe_text`). Defaults follow the model family, not
JSON: `norm_topk_prob` absent means true. Sources: the models' published config.json files.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import BadContainer, UnsupportedModel

FAMILIES = {
    "qwen3_next": "qwen3_next",
    "qwen3_5_moe": "qwen3_5_moe",
    "qwen3_5_moe_text": "qwen3_5_moe",
}


@dataclass(frozen=True, slots=True)
class Quantization:
    """MLX affine quantization: `bits` a weight, one scale and bias for `group_size` weights."""

    bits: int
    group_size: int


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The numbers of one model. Letters as in `engine.model`: D hidden, E experts, K top-k."""

    family: str  # "qwen3_next" or "qwen3_5_moe"
    hidden_size: int
    layer_count: int
    full_attention_interval: int
    head_count: int
    kv_head_count: int
    head_dim: int
    rotary_dim: int
    rope_theta: float
    linear_key_head_count: int
    linear_value_head_count: int
    linear_key_head_dim: int
    linear_value_head_dim: int
    conv_kernel: int
    expert_count: int
    experts_per_token: int
    expert_intermediate_size: int
    shared_intermediate_size: int
    norm_topk_prob: bool
    vocab_size: int
    tie_word_embeddings: bool
    rms_norm_eps: float
    context_length: int
    eos_token_ids: frozenset[int]
    quantization: Quantization | None  # of modules without an override; None: unquantized
    quantization_overrides: Mapping[str, Quantization | None]  # by module path as in the file

    def is_linear(self, layer: int) -> bool:
        """Whether `layer` is a Gated DeltaNet layer rather than full attention."""
        return (layer + 1) % self.full_attention_interval != 0

    @property
    def linear_layers(self) -> tuple[bool, ...]:
        """For each layer, whether it is a Gated DeltaNet layer."""
        return tuple(self.is_linear(layer) for layer in range(self.layer_count))

    @property
    def conv_dim(self) -> int:
        """Channels of the causal convolution: queries, keys and values side by side."""
        keys = self.linear_key_head_count * self.linear_key_head_dim
        return 2 * keys + self.linear_value_head_count * self.linear_value_head_dim

    def module_quantization(self, module: str) -> Quantization | None:
        """The quantization of a dense module, by its path with or without `language_model.`."""
        for path, quantization in self.quantization_overrides.items():
            if path.endswith(module) or module.endswith(path):
                return quantization
        return self.quantization


def load_config(path: Path) -> ModelConfig:
    """Read a config.json. Raises BadContainer where it is malformed, UnsupportedModel otherwise."""
    try:
        root = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadContainer(f"{path} cannot be read as JSON: {error}.", _REDOWNLOAD) from error
    return parse_config(root, str(path))


def parse_config(root: object, name: str = "config.json") -> ModelConfig:
    """Validate a parsed config.json; `name` is what errors call it."""
    if not isinstance(root, dict):
        raise BadContainer(f"{name} is not a JSON object.", _REDOWNLOAD)
    return _Reader(root, name).read()


_REDOWNLOAD = "Download the model again."
_LARGEST = 2**31 - 1


class _Reader:
    """Typed access to the text model's fields; every refusal names file, key and value."""

    def __init__(self, root: dict[str, Any], name: str) -> None:
        text = root.get("text_config")
        self.root = root
        self.text = text if isinstance(text, dict) else root
        self.name = name
        rope = self.text.get("rope_parameters") or self.text.get("rope_scaling") or {}
        self.rope = rope if isinstance(rope, dict) else {}

    def read(self) -> ModelConfig:
        family = self._family()
        head_dim = self._int("head_dim")
        rotary_dim = int(head_dim * self._rope_number("partial_rotary_factor", 0.25))
        config = ModelConfig(
            family=family,
            hidden_size=self._int("hidden_size"),
            layer_count=self._int("num_hidden_layers", most=4096),
            full_attention_interval=self._int("full_attention_interval", default=4),
            head_count=self._int("num_attention_heads"),
            kv_head_count=self._int("num_key_value_heads"),
            head_dim=head_dim,
            rotary_dim=rotary_dim,
            rope_theta=self._rope_number("rope_theta", 10_000_000.0),
            linear_key_head_count=self._int("linear_num_key_heads"),
            linear_value_head_count=self._int("linear_num_value_heads"),
            linear_key_head_dim=self._int("linear_key_head_dim"),
            linear_value_head_dim=self._int("linear_value_head_dim"),
            conv_kernel=self._int("linear_conv_kernel_dim", default=4),
            expert_count=self._int("num_experts"),
            experts_per_token=self._int("num_experts_per_tok"),
            expert_intermediate_size=self._int("moe_intermediate_size"),
            shared_intermediate_size=self._int("shared_expert_intermediate_size"),
            norm_topk_prob=self._bool("norm_topk_prob", default=True),
            vocab_size=self._int("vocab_size"),
            tie_word_embeddings=self._tied(),
            rms_norm_eps=self._number("rms_norm_eps", default=1e-6),
            context_length=self._int("max_position_embeddings"),
            eos_token_ids=self._eos(),
            quantization=self._quantization(),
            quantization_overrides=self._overrides(),
        )
        self._check(config)
        return config

    def _family(self) -> str:
        model_type = self.text.get("model_type", self.root.get("model_type"))
        family = FAMILIES.get(model_type) if isinstance(model_type, str) else None
        if family is None:
            raise UnsupportedModel(
                f"{self.name} has model_type {model_type!r}.",
                "Martlet runs qwen3_next and qwen3_5_moe models.",
            )
        return family

    def _check(self, c: ModelConfig) -> None:
        pairs = [
            (c.experts_per_token <= c.expert_count, "num_experts_per_tok exceeds num_experts"),
            (c.head_count % c.kv_head_count == 0, "attention heads do not divide by kv heads"),
            (
                c.linear_value_head_count % c.linear_key_head_count == 0,
                "linear value heads do not divide by linear key heads",
            ),
            (0 < c.rotary_dim <= c.head_dim, f"rotary dimension {c.rotary_dim} is impossible"),
            (c.rotary_dim % 2 == 0, f"rotary dimension {c.rotary_dim} is odd"),
            (0 < c.rms_norm_eps < 1, f"rms_norm_eps {c.rms_norm_eps} is impossible"),
            (c.rope_theta > 0, f"rope_theta {c.rope_theta} is impossible"),
        ]
        for holds, sentence in pairs:
            if not holds:
                raise BadContainer(f"{self.name}: {sentence}.", _REDOWNLOAD)
        self._check_layer_kinds(c)
        self._check_every_layer_is_sparse()

    def _check_layer_kinds(self, c: ModelConfig) -> None:
        kinds = self.text.get("layer_types")
        if kinds is None:
            return
        expected = [
            "linear_attention" if linear else "full_attention" for linear in c.linear_layers
        ]
        if kinds != expected:
            raise UnsupportedModel(
                f"{self.name}: layer_types does not repeat full attention every "
                f"{c.full_attention_interval} layers.",
                "Martlet runs the published layouts only.",
            )

    def _check_every_layer_is_sparse(self) -> None:
        step = self.text.get("decoder_sparse_step", 1)
        dense = self.text.get("mlp_only_layers") or []
        if step != 1 or dense:
            raise UnsupportedModel(
                f"{self.name}: decoder_sparse_step {step!r}, mlp_only_layers {dense!r}.",
                "Martlet runs models whose every layer has experts.",
            )

    def _int(self, key: str, default: int | None = None, most: int = _LARGEST) -> int:
        value = self.text.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= most:
            raise BadContainer(
                f"{self.name}: {key} is {value!r}, expected a whole number from 1 to {most}.",
                _REDOWNLOAD,
            )
        return value

    def _number(self, key: str, default: float) -> float:
        return self._finite(key, self.text.get(key, default))

    def _rope_number(self, key: str, default: float) -> float:
        return self._finite(key, self.rope.get(key, self.text.get(key, default)))

    def _finite(self, key: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadContainer(f"{self.name}: {key} is {value!r}, expected a number.", _REDOWNLOAD)
        if not math.isfinite(value):
            raise BadContainer(f"{self.name}: {key} is {value!r}, not finite.", _REDOWNLOAD)
        return float(value)

    def _bool(self, key: str, default: bool) -> bool:
        value = self.text.get(key, default)
        return value if isinstance(value, bool) else default

    def _tied(self) -> bool:
        return self.root.get("tie_word_embeddings", self.text.get("tie_word_embeddings")) is True

    def _eos(self) -> frozenset[int]:
        """End-of-sequence ids are a union: nested, top-level and (elsewhere) generation_config."""
        found: set[int] = set()
        for source in (self.root, self.text):
            found |= token_ids(source.get("eos_token_id"))
        return frozenset(found)

    def _quantization(self) -> Quantization | None:
        section = self.root.get("quantization")
        if not isinstance(section, dict):
            return None
        return self._parse_quantization("quantization", section)

    def _overrides(self) -> dict[str, Quantization | None]:
        section = self.root.get("quantization")
        if not isinstance(section, dict):
            return {}
        return {
            path: self._parse_quantization(path, value) if isinstance(value, dict) else None
            for path, value in section.items()
            if isinstance(value, dict) or value is False
        }

    def _parse_quantization(self, path: str, section: dict[str, Any]) -> Quantization:
        bits, group = section.get("bits"), section.get("group_size")
        mode = section.get("mode", "affine")
        if mode != "affine" or bits not in (2, 3, 4, 5, 6, 8) or group not in (32, 64, 128):
            raise UnsupportedModel(
                f"{self.name}: {path} is quantized as {mode!r}, {bits!r} bits, group {group!r}.",
                "Martlet runs affine quantization of 2 to 8 bits in groups of 32, 64 or 128.",
            )
        return Quantization(bits, group)


def token_ids(value: object) -> set[int]:
    """The ids in a config's `*_token_id` field: an int, a list of ints, or nothing."""
    values = value if isinstance(value, list) else [value]
    return {v for v in values if isinstance(v, int) and not isinstance(v, bool) and v >= 0}
