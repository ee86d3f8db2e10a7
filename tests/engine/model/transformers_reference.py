"""What transformers computes for the tiny float32 models, recorded for the tests.

    python -m tests.engine.model.transformers_reference

torch is large, and wheels of it for one processor kind only are not to be had everywhere, so its
answers are kept in transformers_reference.npz and this program remakes them wherever torch is.
The weights are those of `tests.engine.tiny`, by the same seed; only names and layouts change:
experts' gate and up in one tensor, channels of the convolution first, norms without their one.
"""

from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
from mlx.utils import tree_flatten

from tests.engine.tiny import FAMILIES, Family, make_config, make_model

FILE = Path(__file__).with_suffix(".npz")
SEED = 11
IDS = [int(i) for i in np.random.RandomState(5).randint(0, 250, 24)]
GREEDY = 64
CENTRED = ("input_layernorm", "post_attention_layernorm", "q_norm", "k_norm", "model.norm")


def weights(family: Family) -> dict[str, np.ndarray]:
    """The tiny model's tensors by transformers' names."""
    tensors = dict(tree_flatten(make_model(make_config(family), seed=SEED).parameters()))
    named = {n.removeprefix("language_model."): np.array(t) for n, t in tensors.items()}
    for name in [n for n in named if n.endswith("switch_mlp.gate_proj.weight")]:
        experts = name.removesuffix("switch_mlp.gate_proj.weight")
        gate = named.pop(name)
        up = named.pop(f"{experts}switch_mlp.up_proj.weight")
        named[f"{experts}experts.gate_up_proj"] = np.concatenate([gate, up], axis=1)
        named[f"{experts}experts.down_proj"] = named.pop(f"{experts}switch_mlp.down_proj.weight")
    for name in named:
        if name.endswith("conv1d.weight"):
            named[name] = np.moveaxis(named[name], 2, 1)
        elif name.removesuffix(".weight").endswith(CENTRED):
            named[name] = named[name] - 1
    return named


def build(family: Family) -> Any:
    """transformers' own model with those weights."""
    import torch
    import transformers

    config = make_config(family)
    text = config.get("text_config", config)
    fields = {k: v for k, v in text.items() if k not in ("model_type", "architectures")}
    rope = {"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.25}
    fields["rope_parameters"] = fields.get("rope_parameters", rope)
    names = {
        "qwen3_next": ("Qwen3NextConfig", "Qwen3NextForCausalLM"),
        "qwen3_5_moe": ("Qwen3_5MoeTextConfig", "Qwen3_5MoeForCausalLM"),
    }[family]
    make_configuration, make = (getattr(transformers, name) for name in names)
    model = make(make_configuration(**fields)).eval().float()
    state = {name: torch.from_numpy(value.copy()) for name, value in weights(family).items()}
    model.load_state_dict(state, strict=True)
    return model


def record(family: Family) -> dict[str, np.ndarray]:
    """Logits of every position of IDS, and the greedy tokens after them."""
    import torch

    model = build(family)
    ids = torch.tensor([IDS])
    with torch.no_grad():
        logits = model(ids).logits[0].numpy()
        for _ in range(GREEDY):
            last = model(ids).logits[0, -1]
            ids = torch.cat([ids, last.argmax().reshape(1, 1)], dim=1)
    return {
        f"{family}.logits": logits.astype(np.float32),
        f"{family}.greedy": ids[0, len(IDS) :].numpy().astype(np.int32),
    }


def main() -> None:
    """Remake the file."""
    mx.set_default_device(mx.cpu)
    recorded: dict[str, np.ndarray] = {}
    for family in FAMILIES:
        recorded |= record(family)
    np.savez_compressed(FILE, **recorded)


if __name__ == "__main__":
    main()
