"""layout.json: where the tensors of one expert lie in its blob, and how many blobs there are.

Every layer has one file of `expert_count` blobs, `stride` bytes apart. The sections of a blob lie
back to back from its start, so that one read fills all of an expert's places.
Letters: E experts, D hidden, I expert intermediate size, b bits, g group size.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from engine.config import ModelConfig, Quantization
from engine.container.files import REDOWNLOAD
from engine.container.json_file import shown, whole_number
from engine.container.safetensors import ITEM_BYTES, whole_shape
from engine.container.widths import FLOATS, PACKED, derive_quantization, supported_widths
from engine.errors import BadContainer, UnsupportedModel

PAGE_BYTES = 16384
PROJECTIONS = ("gate_proj", "up_proj", "down_proj")
PARTS = ("weight", "scales", "biases")
LARGEST_STRIDE = 1 << 36  # bytes; the largest known expert has 7 MB


@dataclass(frozen=True, slots=True)
class Section:
    """One tensor of one expert: `size` bytes at `offset` from the start of the blob."""

    name: str  # "gate_proj.weight"
    dtype: str  # as safetensors calls it
    shape: tuple[int, ...]  # of one expert
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class ExpertLayout:
    """The geometry of the expert files. `sections` are in blob order."""

    expert_count: int
    layer_count: int
    stride: int
    sections: tuple[Section, ...]
    linear_layers: tuple[bool, ...]

    @property
    def payload(self) -> int:
        """Bytes of a blob that are tensors; the rest of the stride is padding."""
        return sum(section.size for section in self.sections)

    @property
    def layer_bytes(self) -> int:
        """The exact size of one layer's file."""
        return self.stride * self.expert_count

    def section(self, name: str) -> Section:
        """The section called `name`. Raises KeyError."""
        for section in self.sections:
            if section.name == name:
                return section
        raise KeyError(name)


def build_layout(
    config: ModelConfig, shapes: Mapping[str, tuple[str, tuple[int, ...]]]
) -> ExpertLayout:
    """Lay out the blob of an expert with `shapes` (section name -> dtype, shape of one expert).

    Raises BadContainer or UnsupportedModel where these are not an expert of `config`.
    """
    sections, offset = [], 0
    for name in (f"{projection}.{part}" for projection in PROJECTIONS for part in PARTS):
        if name in shapes:
            dtype, shape = shapes[name]
            size = math.prod(shape) * ITEM_BYTES[dtype]
            sections.append(Section(name, dtype, shape, offset, size))
            offset += size
    stride = -(-offset // PAGE_BYTES) * PAGE_BYTES
    layout = ExpertLayout(
        config.expert_count, config.layer_count, stride, tuple(sections), config.linear_layers
    )
    expert_quantization(layout, config, "The checkpoint")
    return layout


def dump_layout(layout: ExpertLayout) -> dict[str, Any]:
    """The JSON form of a layout."""
    return {
        "expertCount": layout.expert_count,
        "layerCount": layout.layer_count,
        "expertStride": layout.stride,
        "linearLayers": list(layout.linear_layers),
        "sections": [
            {"name": s.name, "dtype": s.dtype, "shape": list(s.shape), "offset": s.offset,
             "size": s.size}
            for s in layout.sections
        ],
    }  # fmt: skip


def parse_layout(data: dict[str, Any], name: str) -> ExpertLayout:
    """Check a parsed layout.json for itself; `name` is what errors call it."""
    stride = whole_number(data, "expertStride", name, least=1, most=LARGEST_STRIDE)
    if stride % PAGE_BYTES:
        raise BadContainer(
            f"{name}: expertStride is {stride}, expected a multiple of {PAGE_BYTES}.", REDOWNLOAD
        )
    layers = whole_number(data, "layerCount", name, least=1, most=4096)
    return ExpertLayout(
        expert_count=whole_number(data, "expertCount", name, least=1, most=65536),
        layer_count=layers,
        stride=stride,
        sections=_sections(data.get("sections"), stride, name),
        linear_layers=_linear_layers(data.get("linearLayers"), layers, name),
    )


def _linear_layers(value: object, layers: int, name: str) -> tuple[bool, ...]:
    if isinstance(value, list) and [type(linear) for linear in value] == [bool] * layers:
        return tuple(value)
    raise BadContainer(
        f"{name}: linearLayers is {shown(value)}, expected {layers} truth values.", REDOWNLOAD
    )


def _sections(value: object, stride: int, name: str) -> tuple[Section, ...]:
    if not isinstance(value, list) or len(value) > len(PROJECTIONS) * len(PARTS):
        raise BadContainer(f"{name}: sections is {shown(value)}.", REDOWNLOAD)
    sections = sorted((_section(item, name) for item in value), key=lambda s: s.offset)
    for a, b in pairwise(sections):
        if a.offset + a.size != b.offset:
            fault = "overlap" if a.offset + a.size > b.offset else "have a gap between them"
            raise BadContainer(f"{name}: {a.name} and {b.name} {fault}.", REDOWNLOAD)
    _check_ends(sections, stride, name)
    return tuple(sections)


def _section(value: Any, name: str) -> Section:
    if not isinstance(value, dict):
        raise BadContainer(f"{name}: a section is {shown(value)}.", REDOWNLOAD)
    title, dtype = value.get("name"), value.get("dtype")
    if title not in [f"{projection}.{part}" for projection in PROJECTIONS for part in PARTS]:
        raise BadContainer(f"{name}: a section is called {shown(title)}.", REDOWNLOAD)
    what = f"{name}: {title}"
    if dtype not in (*FLOATS, PACKED):
        raise UnsupportedModel(f"{what} has the dtype {shown(dtype)}.", supported_widths())
    shape = whole_shape(value.get("shape"), what)
    size = whole_number(value, "size", what, least=1)
    expected = math.prod(shape) * ITEM_BYTES[dtype]
    if size != expected:
        raise BadContainer(
            f"{what} has size {size}, but {dtype} of shape {shape} needs {expected}.", REDOWNLOAD
        )
    return Section(title, dtype, shape, whole_number(value, "offset", what), size)


def _check_ends(sections: list[Section], stride: int, name: str) -> None:
    if not sections:
        raise BadContainer(f"{name} has no sections.", REDOWNLOAD)
    if sections[0].offset != 0:
        raise BadContainer(
            f"{name}: {sections[0].name} starts at {sections[0].offset}, expected 0.", REDOWNLOAD
        )
    end = sections[-1].offset + sections[-1].size
    if end > stride:
        raise BadContainer(
            f"{name}: {sections[-1].name} ends at {end}, past the stride of {stride}.", REDOWNLOAD
        )


def check_layout(layout: ExpertLayout, config: ModelConfig, name: str) -> Quantization | None:
    """Compare a layout with the model's config; the experts' quantization, derived from shapes."""
    pairs = [
        ("expertCount", layout.expert_count, "num_experts", config.expert_count),
        ("layerCount", layout.layer_count, "num_hidden_layers", config.layer_count),
    ]
    for key, found, config_key, expected in pairs:
        if found != expected:
            raise BadContainer(
                f"{name}: {key} is {found}, but config.json has {config_key} {expected}.",
                REDOWNLOAD,
            )
    if layout.linear_layers != config.linear_layers:
        raise BadContainer(
            f"{name}: linearLayers does not have full attention every "
            f"{config.full_attention_interval} layers as config.json says.",
            REDOWNLOAD,
        )
    return expert_quantization(layout, config, name)


def expert_quantization(
    layout: ExpertLayout, config: ModelConfig, name: str
) -> Quantization | None:
    """Check every section's shape and dtype against `config`; the width that the shapes mean."""
    sections = {section.name: section for section in layout.sections}
    if len(sections) != len(layout.sections):
        raise BadContainer(f"{name} names an expert tensor twice.", REDOWNLOAD)
    found = {p: _projection(p, sections, config, name) for p in PROJECTIONS}
    if len(set(found.values())) > 1:
        raise UnsupportedModel(
            f"{name} has experts of mixed widths: "
            + ", ".join(f"{p} {width_name(q)}" for p, q in found.items()) + ".",
            "A container holds experts of one width.",
        )  # fmt: skip
    floats = {section.dtype for section in layout.sections} - {PACKED}
    if len(floats) > 1:
        raise UnsupportedModel(
            f"{name} has experts that mix {' and '.join(sorted(floats))}.",
            "A container holds experts of one dtype.",
        )
    return found[PROJECTIONS[0]]


def _projection(
    projection: str, sections: Mapping[str, Section], config: ModelConfig, name: str
) -> Quantization | None:
    hidden, inner = config.hidden_size, config.expert_intermediate_size
    out_features, in_features = (hidden, inner) if projection == "down_proj" else (inner, hidden)
    weight, scales, biases = (sections.get(f"{projection}.{part}") for part in PARTS)
    if weight is None or (scales is None) != (biases is None):
        missing = [p for p in PARTS if f"{projection}.{p}" not in sections]
        raise BadContainer(f"{name}: {projection} lacks {', '.join(missing)}.", REDOWNLOAD)
    if weight.shape[:1] != (out_features,):
        raise _wrong_shape(weight, f"[{out_features}, …]", name)
    if scales is None or biases is None:
        if weight.dtype not in FLOATS or weight.shape != (out_features, in_features):
            raise _wrong_shape(weight, f"floats of [{out_features}, {in_features}]", name)
        return None
    return _packed(weight, scales, biases, in_features, name)


def _packed(
    weight: Section, scales: Section, biases: Section, in_features: int, name: str
) -> Quantization:
    if (biases.dtype, biases.shape) != (scales.dtype, scales.shape):
        raise _wrong_shape(biases, f"{scales.dtype} {list(scales.shape)} as the scales", name)
    found = derive_quantization(weight.shape, scales.shape, in_features)
    if found is None or weight.dtype != PACKED or scales.dtype not in FLOATS:
        raise UnsupportedModel(
            f"{name}: {weight.name} {weight.dtype} {list(weight.shape)} with scales {scales.dtype} "
            f"{list(scales.shape)} is no known quantization of {in_features} inputs.",
            supported_widths(),
        )
    return found


def _wrong_shape(section: Section, expected: str, name: str) -> BadContainer:
    return BadContainer(
        f"{name}: {section.name} is {section.dtype} {list(section.shape)}, expected {expected}.",
        REDOWNLOAD,
    )


def width_name(quantization: Quantization | None) -> str:
    """A quantization in words."""
    if quantization is None:
        return "unquantized"
    return f"{quantization.bits} bits in groups of {quantization.group_size}"
