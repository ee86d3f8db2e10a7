"""Which tensors a model of either family has, beside its routed experts, and in which shapes.

Bare names are those of the text model alone: a wrapper's prefix is stripped, and what a text model
has no use for (vision, multi-token prediction) has no bare name.
Letters: D hidden, V vocabulary, E experts, I shared expert's intermediate size.
"""

import re
from collections.abc import Iterable, Mapping

from engine.config import ModelConfig
from engine.container.files import REDOWNLOAD
from engine.container.json_file import shown
from engine.container.safetensors import TensorEntry
from engine.container.widths import FLOATS, PACKED, derive_quantization, supported_widths
from engine.errors import BadContainer, UnsupportedModel

Shape = tuple[int, ...]

_EXPERT = re.compile(
    r"model\.layers\.(0|[1-9]\d{0,3})\.mlp\.switch_mlp\.((?:gate|up|down)_proj\.(?:weight|scales|biases))"
)
_DROPPED = ("mtp.", "vision_tower.", "visual.", "model.visual.")


def bare_name(name: str) -> str | None:
    """`name` without its wrapper's prefix; None for a tensor that a text model does not use."""
    if name.startswith("model.language_model."):
        name = "model." + name.removeprefix("model.language_model.")
    name = name.removeprefix("language_model.")
    return None if name.startswith(_DROPPED) or ".mtp." in name else name


def by_bare_name(names: Iterable[str], file: str) -> dict[str, str]:
    """Bare name -> name in the file. Raises BadContainer where two names mean one tensor."""
    found: dict[str, str] = {}
    for name in names:
        bare = bare_name(name)
        if bare is not None and found.setdefault(bare, name) != name:
            raise BadContainer(
                f"{file} holds both {shown(found[bare])} and {shown(name)}.", REDOWNLOAD
            )
    return found


def expert_section(bare: str) -> tuple[int, str] | None:
    """The layer and section name of a stacked expert tensor; None for any other."""
    match = _EXPERT.fullmatch(bare)
    return (int(match[1]), match[2]) if match else None


def required_tensors(config: ModelConfig) -> dict[str, Shape]:
    """Every dense tensor's bare name and logical shape; linears are (out, in), quantized or not."""
    return {f"{module}.weight": shape for module, shape in linears(config).items()} | plains(config)


def linears(config: ModelConfig) -> dict[str, Shape]:
    """The modules that may be quantized: (out features, in features)."""
    table = (config.vocab_size, config.hidden_size)
    found: dict[str, Shape] = {"model.embed_tokens": table}
    if not config.tie_word_embeddings:
        found["lm_head"] = table
    for layer in range(config.layer_count):
        mixer = _delta_linears if config.is_linear(layer) else _attention_linears
        parts = mixer(config) | _mlp_linears(config)
        found |= {f"model.layers.{layer}.{name}": shape for name, shape in parts.items()}
    return found


def plains(config: ModelConfig) -> dict[str, Shape]:
    """The tensors that are never quantized."""
    hidden = (config.hidden_size,)
    found: dict[str, Shape] = {"model.norm.weight": hidden}
    for layer in range(config.layer_count):
        norms = {"input_layernorm.weight": hidden, "post_attention_layernorm.weight": hidden}
        mixer = _delta_plains if config.is_linear(layer) else _attention_plains
        parts = norms | mixer(config)
        found |= {f"model.layers.{layer}.{name}": shape for name, shape in parts.items()}
    return found


def _mlp_linears(c: ModelConfig) -> dict[str, Shape]:
    hidden, inner = c.hidden_size, c.shared_intermediate_size
    return {
        "mlp.gate": (c.expert_count, hidden),
        "mlp.shared_expert.gate_proj": (inner, hidden),
        "mlp.shared_expert.up_proj": (inner, hidden),
        "mlp.shared_expert.down_proj": (hidden, inner),
        "mlp.shared_expert_gate": (1, hidden),
    }


def _attention_linears(c: ModelConfig) -> dict[str, Shape]:
    queries, keys = c.head_count * c.head_dim, c.kv_head_count * c.head_dim
    return {
        "self_attn.q_proj": (2 * queries, c.hidden_size),  # each head: query, then gate
        "self_attn.k_proj": (keys, c.hidden_size),
        "self_attn.v_proj": (keys, c.hidden_size),
        "self_attn.o_proj": (c.hidden_size, queries),
    }


def _attention_plains(c: ModelConfig) -> dict[str, Shape]:
    return {"self_attn.q_norm.weight": (c.head_dim,), "self_attn.k_norm.weight": (c.head_dim,)}


def _delta_linears(c: ModelConfig) -> dict[str, Shape]:
    heads = c.linear_value_head_count
    values = heads * c.linear_value_head_dim
    if c.family == "qwen3_next":
        inputs = {"in_proj_qkvz": c.conv_dim + values, "in_proj_ba": 2 * heads}
    else:
        inputs = {
            "in_proj_qkv": c.conv_dim,
            "in_proj_z": values,
            "in_proj_b": heads,
            "in_proj_a": heads,
        }
    shapes: dict[str, Shape] = {
        f"linear_attn.{name}": (out, c.hidden_size) for name, out in inputs.items()
    }
    return shapes | {"linear_attn.out_proj": (c.hidden_size, values)}


def _delta_plains(c: ModelConfig) -> dict[str, Shape]:
    return {
        "linear_attn.conv1d.weight": (c.conv_dim, c.conv_kernel, 1),
        "linear_attn.A_log": (c.linear_value_head_count,),
        "linear_attn.dt_bias": (c.linear_value_head_count,),
        "linear_attn.norm.weight": (c.linear_value_head_dim,),
    }


def select_dense(
    config: ModelConfig, entries: Mapping[str, TensorEntry], file: str
) -> dict[str, TensorEntry]:
    """The entries (by bare name) that the model uses, each checked for its shape and dtype.

    Raises BadContainer for a missing or misshapen tensor, UnsupportedModel for an unknown
    quantization or a parameter that this engine would leave out of the sum.
    """
    chosen: dict[str, TensorEntry] = {}
    for name, shape in plains(config).items():
        chosen[name] = _plain(name, shape, entries, file)
    for module, shape in linears(config).items():
        chosen |= _linear(module, shape, entries, file)
    modules = {name.rpartition(".")[0] for name in chosen}
    for name in entries.keys() - chosen.keys():
        if name.rpartition(".")[0] in modules:
            raise UnsupportedModel(
                f"{file} holds {shown(name)}, which no model of the family {config.family} has.",
                "Martlet runs the published architectures only.",
            )
    return chosen


def _plain(name: str, shape: Shape, entries: Mapping[str, TensorEntry], file: str) -> TensorEntry:
    entry = _entry(name, entries, file)
    if entry.shape != shape or entry.dtype not in FLOATS:
        raise BadContainer(
            f"{file}: {name} is {entry.dtype} {list(entry.shape)}, expected floats of "
            f"{list(shape)}.",
            REDOWNLOAD,
        )
    return entry


def _linear(
    module: str, shape: Shape, entries: Mapping[str, TensorEntry], file: str
) -> dict[str, TensorEntry]:
    if f"{module}.scales" not in entries:
        name = f"{module}.weight"
        return {name: _plain(name, shape, entries, file)}
    parts = {
        name: _entry(name, entries, file)
        for name in (f"{module}.weight", f"{module}.scales", f"{module}.biases")
    }
    weight, scales, biases = parts.values()
    quantization = derive_quantization(weight.shape, scales.shape, shape[1])
    known = quantization and weight.dtype == PACKED and scales.dtype in FLOATS
    if not known or weight.shape[:-1] != shape[:-1]:
        raise UnsupportedModel(
            f"{file}: {module} is {weight.dtype} {list(weight.shape)} with scales {scales.dtype} "
            f"{list(scales.shape)}, no known quantization of {list(shape)}.",
            supported_widths(),
        )
    _check_biases(module, scales, biases, file)
    return parts


def _check_biases(module: str, scales: TensorEntry, biases: TensorEntry, file: str) -> None:
    if (biases.dtype, biases.shape) != (scales.dtype, scales.shape):
        raise BadContainer(
            f"{file}: {module}.biases is {biases.dtype} {list(biases.shape)}, expected "
            f"{scales.dtype} {list(scales.shape)} as the scales.",
            REDOWNLOAD,
        )


def _entry(name: str, entries: Mapping[str, TensorEntry], file: str) -> TensorEntry:
    if name not in entries:
        raise BadContainer(f"{file} lacks the tensor {name}.", REDOWNLOAD)
    return entries[name]
