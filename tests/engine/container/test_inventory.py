"""Names and shapes of the two families, against the models that mlx-lm builds."""

import pytest
from mlx.utils import tree_flatten

from engine.config import parse_config
from engine.container.inventory import bare_name, by_bare_name, expert_section, required_tensors
from engine.errors import BadContainer
from tests.engine.tiny import FAMILIES, make_config, make_model


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("tied", [False, True])
def test_required_tensors_are_those_of_mlx_lms_model(family, tied):
    config = make_config(family, tie_word_embeddings=tied, num_hidden_layers=8)
    model = {bare_name(n): t for n, t in tree_flatten(make_model(config).parameters())}
    expected = {name: t.shape for name, t in model.items() if "switch_mlp" not in name}
    assert required_tensors(parse_config(config)) == expected


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("model.norm.weight", "model.norm.weight"),
        ("language_model.model.norm.weight", "model.norm.weight"),
        ("model.language_model.norm.weight", "model.norm.weight"),
        ("language_model.lm_head.weight", "lm_head.weight"),
        ("vision_tower.blocks.0.weight", None),
        ("model.visual.blocks.0.weight", None),
        ("mtp.layers.0.mlp.switch_mlp.up_proj.weight", None),
        ("language_model.mtp.fc.weight", None),
        ("model.mtp.fc.weight", None),
    ],
)
def test_bare_names(name, bare):
    assert bare_name(name) == bare


def test_two_names_of_one_tensor_are_refused():
    names = ["model.norm.weight", "language_model.model.norm.weight"]
    with pytest.raises(BadContainer, match="holds both"):
        by_bare_name(names, "the file")


def test_expert_sections():
    name = "model.layers.12.mlp.switch_mlp.down_proj.scales"
    assert expert_section(name) == (12, "down_proj.scales")
    others = [name + "x", "x" + name]
    others += [name.replace("12", other) for other in ("x", "012", "99999", "")]
    for other in [*others, name.replace("scales", "bias")]:
        assert expert_section(other) is None
