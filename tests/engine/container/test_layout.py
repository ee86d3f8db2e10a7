"""Layouts of the published models, and the round trip through JSON."""

import pytest

from engine.config import ModelConfig, Quantization, parse_config
from engine.container.layout import (
    build_layout,
    check_layout,
    dump_layout,
    expert_quantization,
    parse_layout,
)
from engine.container.widths import derive_quantization
from engine.errors import UnsupportedModel
from tests.engine.tiny import make_config


def experts_of(hidden: int, inner: int, bits: int, group: int, scales: str = "BF16"):
    """The shapes of one expert as MLX quantizes it."""
    shapes = {}
    for name, out, into in (
        ("gate_proj", inner, hidden), ("up_proj", inner, hidden), ("down_proj", hidden, inner),
    ):  # fmt: skip
        shapes[f"{name}.weight"] = ("U32", (out, into * bits // 32))
        shapes[f"{name}.scales"] = (scales, (out, into // group))
        shapes[f"{name}.biases"] = (scales, (out, into // group))
    return shapes


def config_of(hidden: int, inner: int, experts: int, layers: int) -> ModelConfig:
    """A config of these dimensions."""
    return parse_config(
        make_config(
            hidden_size=hidden, moe_intermediate_size=inner, num_experts=experts,
            num_hidden_layers=layers,
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("hidden", "inner", "experts", "layers", "bits", "stride", "layer_bytes"),
    [
        (2048, 512, 256, 40, 4, 1_769_472, 452_984_832),
        (2048, 512, 256, 40, 8, 3_342_336, 855_638_016),
        (2048, 512, 512, 48, 4, 1_769_472, 905_969_664),
        (2048, 512, 512, 48, 8, 3_342_336, 1_711_276_032),
        (4096, 1024, 512, 60, 4, 7_077_888, 3_623_878_656),
    ],
)
def test_published_sizes(hidden, inner, experts, layers, bits, stride, layer_bytes):
    config = config_of(hidden, inner, experts, layers)
    layout = build_layout(config, experts_of(hidden, inner, bits, 64))
    assert layout.payload == layout.stride == stride
    assert layout.layer_bytes == layer_bytes
    assert layout.section("down_proj.weight").shape == (hidden, inner * bits // 32)
    assert all(section.offset % 32768 == 0 for section in layout.sections)


def test_padding_rounds_up_to_a_page():
    layout = build_layout(config_of(64, 32, 8, 8), experts_of(64, 32, 4, 32, "F32"))
    assert (layout.payload, layout.stride) == (4608, 16384)


def test_json_round_trip():
    config = config_of(64, 64, 16, 4)
    layout = build_layout(config, experts_of(64, 64, 4, 32))
    parsed = parse_layout(dump_layout(layout), "layout.json")
    assert parsed == layout
    assert check_layout(parsed, config, "layout.json") == Quantization(4, 32)


def test_sections_may_be_listed_in_any_order():
    config = config_of(64, 64, 16, 4)
    layout = build_layout(config, experts_of(64, 64, 4, 32))
    data = dump_layout(layout)
    data["sections"].reverse()
    assert parse_layout(data, "layout.json") == layout


def test_a_section_that_is_not_there():
    layout = build_layout(config_of(64, 64, 16, 4), experts_of(64, 64, 4, 32))
    with pytest.raises(KeyError):
        layout.section("gate_proj.bias")


def test_scales_of_mixed_dtypes_are_refused():
    config = config_of(64, 64, 16, 4)
    shapes = experts_of(64, 64, 4, 32) | {
        f"up_proj.{part}": ("F32", (64, 2)) for part in ("scales", "biases")
    }
    with pytest.raises(UnsupportedModel, match="BF16 and F32"):
        build_layout(config, shapes)


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
@pytest.mark.parametrize("group", [32, 64, 128])
def test_every_width_is_derived_from_its_shapes(bits, group):
    config = config_of(256, 128, 16, 4)
    layout = build_layout(config, experts_of(256, 128, bits, group))
    assert expert_quantization(layout, config, "it") == Quantization(bits, group)


@pytest.mark.parametrize(
    ("weight", "scales", "inputs"),
    [
        ((4, 8), (4, 1), 65),  # no whole number of bits
        ((4, 14), (4, 1), 64),  # 7 bits
        ((4, 2), (4, 1), 64),  # 1 bit
        ((4, 8), (4, 4), 64),  # groups of 16
        ((4, 8), (4, 3), 64),  # groups of no whole size
        ((4, 8), (5, 1), 64),
        ((4, 0), (4, 0), 64),
        ((), (), 64),
    ],
)
def test_shapes_that_are_no_quantization(weight, scales, inputs):
    assert derive_quantization(weight, scales, inputs) is None
