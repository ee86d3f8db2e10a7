"""Opening: a good container's facts, and one refusal for each way to be bad."""

import contextlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.config import Quantization
from engine.container.container import DENSE, LAYOUT, MANIFEST, open_container
from engine.container.safetensors import place_tensors
from engine.errors import BadContainer, MartletError, ModelNotFound, UnsupportedModel
from tests.engine.tiny import FAMILIES

LAYER = "packed_experts/layer_02.bin"


@pytest.fixture
def copied(tiny_models, tmp_path) -> Path:
    """A container that a test may damage."""
    return shutil.copytree(tiny_models.container("qwen3_next"), tmp_path / "copied")


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Rewrite a JSON file."""
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def edit_manifest(folder: Path, **fields: Any) -> None:
    """Set fields of a manifest; None removes one."""

    def change(data: dict[str, Any]) -> None:
        data.update(fields)
        for key in [key for key, value in fields.items() if value is None]:
            del data[key]

    edit(folder / MANIFEST, change)


def edit_layout(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Rewrite layout.json, and the manifest's size of it."""
    edit(folder / LAYOUT, change)
    relist(folder, LAYOUT)


def relist(folder: Path, name: str) -> None:
    """Make the manifest agree with a changed file."""
    edit(folder / MANIFEST, lambda m: m["files"].update({name: (folder / name).stat().st_size}))


def refused(folder: Path, error: type[MartletError], *words: str) -> None:
    """Opening must fail so, with all these words in the message."""
    with pytest.raises(error) as caught:
        open_container(folder)
    for word in words:
        assert word in caught.value.message
    assert caught.value.remedy


@pytest.mark.parametrize("family", FAMILIES)
def test_the_facts_of_a_good_container(family, tiny_models):
    container = open_container(tiny_models.container(family, bits=8, group_size=64))
    assert container.config.family == family
    assert (container.expert_bits, container.expert_group_size) == (8, 64)
    assert container.eos_token_ids == {254, 255}
    assert container.expert_bytes == container.layout.stride == 16384
    assert container.dense_path.name == DENSE
    assert container.layer_path(3).stat().st_size == container.layout.layer_bytes
    assert container.dense_bytes < container.dense_path.stat().st_size
    files = [path for path in container.path.rglob("*") if path.is_file()]
    total = sum(path.stat().st_size for path in files if path.name != "hashes.json")
    assert container.total_bytes == total
    assert container.warnings == ()


def test_floats_have_no_width(tiny_models):
    container = open_container(tiny_models.container("qwen3_next", bits=None))
    assert (container.expert_bits, container.expert_group_size) == (0, 0)
    assert len(container.layout.sections) == 3


def test_a_wrapped_dense_file_opens_by_bare_names(copied):
    rewrite_dense(copied, lambda name: "language_model." + name)
    assert "model.norm.weight" in open_container(copied).dense


def rewrite_dense(folder: Path, rename: Callable[[str], str | None]) -> None:
    """Rename tensors in the header, or cut them out where `rename` gives None."""
    raw = (folder / DENSE).read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])
    new = {name: entry for old, entry in header.items() if (name := rename(old)) is not None}
    text = json.dumps(new).encode()
    text += b" " * (1 - len(text) % 2)  # data then starts at an odd offset
    (folder / DENSE).write_bytes(len(text).to_bytes(8, "little") + text + raw[start:])
    relist(folder, DENSE)


def test_identity_is_of_the_weights_not_of_the_place(tiny_models, copied):
    original = open_container(tiny_models.container("qwen3_next"))
    assert open_container(copied).identity == original.identity
    other = open_container(tiny_models.container("qwen3_next", seed=1))
    assert other.layout == original.layout
    assert other.identity != original.identity


@pytest.mark.parametrize("name", ["model.safetensors", LAYER])
def test_identity_changes_with_any_of_the_big_files(name, copied):
    before = open_container(copied).identity
    raw = bytearray((copied / name).read_bytes())
    raw[len(raw) // 2 : len(raw) // 2 + 4096] = bytes(4096)
    (copied / name).write_bytes(raw)
    assert open_container(copied).identity != before


# One test for each way to be bad.


def test_no_folder(tmp_path):
    refused(tmp_path / "nothing", ModelNotFound, "nothing")


def test_a_file_in_place_of_a_folder(tmp_path):
    (tmp_path / "model").write_text("")
    refused(tmp_path / "model", ModelNotFound)


def test_an_empty_folder(tmp_path):
    refused(tmp_path, BadContainer, MANIFEST, "missing")


def test_a_checkpoint_is_not_a_container(tiny_models):
    refused(tiny_models.checkpoint("qwen3_next"), BadContainer, "checkpoint")


def test_an_unfinished_installation(copied):
    (copied / MANIFEST).unlink()
    (copied / ".install-progress.json").write_text("{}")
    refused(copied, BadContainer, "not complete")


@pytest.mark.parametrize("text", ["", "{", "[]", '"QPACK"', "\xff", '{"magic": 1, "magic": 2}'])
def test_a_manifest_that_is_no_object(text, copied):
    (copied / MANIFEST).write_bytes(text.encode("latin-1"))
    refused(copied, BadContainer, MANIFEST, "JSON")


def test_a_manifest_nested_without_end(copied):
    (copied / MANIFEST).write_text('{"files":' * 100_000)
    refused(copied, BadContainer, MANIFEST)


def test_a_manifest_too_large_to_read(copied):
    os.truncate(copied / MANIFEST, 1 << 40)
    refused(copied, BadContainer, MANIFEST, str(1 << 40))


def test_a_pipe_in_place_of_a_manifest(copied):
    (copied / MANIFEST).unlink()
    os.mkfifo(copied / MANIFEST)
    refused(copied, BadContainer, "not a regular file")


@pytest.mark.parametrize("magic", [None, "", "qpack", "QPACK2", 5])
def test_bad_magic(magic, copied):
    edit_manifest(copied, magic=magic)
    refused(copied, BadContainer, "magic", repr(magic), "'QPACK'")


def test_a_later_version(copied):
    edit_manifest(copied, version=2)
    refused(copied, UnsupportedModel, "version", "2", "expected 1")


@pytest.mark.parametrize("version", [None, True, "1", 1.0, -1])
def test_a_version_that_is_no_number(version, copied):
    edit_manifest(copied, version=version)
    refused(copied, BadContainer, "version")


@pytest.mark.parametrize("files", [None, [], {"config.json": -1}, {"config.json": "12"}])
def test_a_bad_list_of_files(files, copied):
    edit_manifest(copied, files=files)
    refused(copied, BadContainer, "files")


@pytest.mark.parametrize(
    "key",
    [
        "/etc/passwd",
        "../outside",
        "packed_experts/../../outside",
        "packed_experts/..",
        "./config.json",
        "packed_experts//layer_00.bin",
        "",
        "C:\\windows",
        "..\\outside",
        "nul\0byte",
        "line\nbreak",
        "\ud800",
        "x" * 300,
    ],
)
def test_a_key_that_leaves_the_folder(key, copied):
    edit(copied / MANIFEST, lambda manifest: manifest["files"].update({key: 1}))
    refused(copied, BadContainer, MANIFEST, "not one inside")


def test_a_listed_file_is_missing(copied):
    (copied / "chat_template.jinja").unlink()
    refused(copied, BadContainer, "chat_template.jinja is missing")


def test_a_listed_file_has_another_size(copied):
    with (copied / "config.json").open("a") as file:
        file.write(" ")
    found = (copied / "config.json").stat().st_size
    refused(copied, BadContainer, "config.json", str(found), str(found - 1))


def test_a_layer_file_is_missing_and_unlisted(copied):
    edit(copied / MANIFEST, lambda manifest: manifest["files"].pop(LAYER))
    (copied / LAYER).unlink()
    refused(copied, BadContainer, f"{LAYER} is missing")


@pytest.mark.parametrize("size", [0, 16384 * 16 - 1, 16384 * 16 + 1])
def test_a_layer_file_of_another_size(size, copied):
    edit(copied / MANIFEST, lambda manifest: manifest["files"].pop(LAYER))
    os.truncate(copied / LAYER, size)
    refused(copied, BadContainer, LAYER, str(size), "16 experts of 16384", str(16384 * 16))


def test_a_folder_in_place_of_a_layer_file(copied):
    edit(copied / MANIFEST, lambda manifest: manifest["files"].pop(LAYER))
    (copied / LAYER).unlink()
    (copied / LAYER).mkdir()
    refused(copied, BadContainer, LAYER, "not a regular file")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("expertCount", 8, ["expertCount is 8", "num_experts 16"]),
        ("expertStride", 0, ["expertStride", "0"]),
        ("expertStride", 16383, ["16383", "multiple of 16384"]),
        ("expertStride", 1e400, ["expertStride", "inf"]),
        ("expertStride", float("nan"), ["expertStride", "nan"]),
        ("expertStride", 16384.0, ["expertStride", "16384.0"]),
        ("expertStride", 10**30, ["expertStride"]),
        ("expertCount", True, ["expertCount", "True"]),
        ("layerCount", 10**9, ["layerCount"]),
        ("linearLayers", [True, True, False, False], ["linearLayers", "every 4 layers"]),
        ("linearLayers", [1, 1, 1, 0], ["linearLayers"]),
        ("linearLayers", [True], ["linearLayers", "4 truth values"]),
        ("sections", [], ["no sections"]),
        ("sections", [5], ["5"]),
        ("sections", [{}] * 100, ["sections"]),
    ],
)
def test_a_layout_that_disagrees(key, value, words, copied):
    edit_layout(copied, lambda layout: layout.update({key: value}))
    refused(copied, BadContainer, "layout.json", *words)


def test_another_number_of_layers(copied):
    def change(layout):
        layout["layerCount"] = 3
        layout["linearLayers"] = [True, True, True]

    edit_layout(copied, change)
    refused(copied, BadContainer, "layerCount is 3", "num_hidden_layers 4")


SECTION_FAULTS = [
    ("overlap", lambda s: s[3].update(offset=s[3]["offset"] - 4), "overlap"),
    ("gap", lambda s: s[3].update(offset=s[3]["offset"] + 4), "gap"),
    ("late start", lambda s: [part.update(offset=part["offset"] + 4) for part in s], "expected 0"),
    ("negative", lambda s: s[0].update(offset=-4), "offset"),
    ("wrong size", lambda s: s[1].update(size=8), "size 8"),
    ("huge shape", lambda s: s[0].update(shape=[2**31, 1]), "shape"),
    ("infinite shape", lambda s: s[0].update(shape=[64, float("inf")]), "inf"),
    ("deep shape", lambda s: s[0].update(shape=[1] * 99), "shape"),
    ("unknown name", lambda s: s[0].update(name="gate_proj.bias"), "gate_proj.bias"),
    ("twice", lambda s: s[1].update(name="gate_proj.weight"), "twice"),
    ("no weight", lambda s: (s.pop(0), _close_ranks(s)), "gate_proj lacks weight"),
    ("no biases", lambda s: (s.pop(), _close_ranks(s)), "down_proj lacks biases"),
    ("no projection", lambda s: (s.__delitem__(slice(3, 6)), _close_ranks(s)), "up_proj lacks"),
    ("rows", lambda s: s[0].update(shape=[32, 16]), "gate_proj.weight"),
]


def _close_ranks(sections: list[dict[str, Any]]) -> None:
    offset = 0
    for section in sections:
        section["offset"] = offset
        offset += section["size"]


@pytest.mark.parametrize(("change", "word"), [f[1:] for f in SECTION_FAULTS], ids=lambda f: str(f))
def test_sections_that_cannot_be(change, word, copied):
    edit_layout(copied, lambda layout: change(layout["sections"]))
    refused(copied, BadContainer, "layout.json", word)


def test_sections_past_the_stride(tiny_models, tmp_path):
    folder = shutil.copytree(tiny_models.container("qwen3_next", bits=None), tmp_path / "copied")
    edit_layout(folder, lambda layout: layout.update(expertStride=32768))
    refused(folder, BadContainer, "past the stride of 32768")


def test_an_unsupported_width_is_named(copied):
    def change(layout):
        for section in layout["sections"]:
            if section["name"].endswith("weight"):
                section["shape"] = [64, 2]  # one bit
                section["size"] = 64 * 2 * 4
        _close_ranks(layout["sections"])

    edit_layout(copied, change)
    refused(copied, UnsupportedModel, "gate_proj.weight U32 [64, 2]", "64 inputs")


def test_scales_of_eight_bits_are_refused(copied):
    edit_layout(copied, lambda layout: layout["sections"][1].update(dtype="U8", size=64))
    refused(copied, UnsupportedModel, "U8")


def test_projections_of_different_widths_are_refused(copied):
    def change(layout):
        layout["sections"][6].update(shape=[64, 16], size=64 * 16 * 4)
        _close_ranks(layout["sections"])

    edit_layout(copied, change)
    refused(copied, UnsupportedModel, "mixed widths", "down_proj 8 bits", "up_proj 4 bits")


def test_the_shapes_decide_where_the_manifest_records_another_width(copied):
    edit_manifest(copied, quantBits=8, quantGroupSize=32)
    container = open_container(copied)
    assert container.expert_quantization == Quantization(4, 64)
    (warning,) = container.warnings
    assert "8 bits in groups of 32" in warning
    assert "4 in groups of 64" in warning


@pytest.mark.parametrize("bits", ["4", 4.0, -4, [4]])
def test_a_recorded_width_that_is_no_number(bits, copied):
    edit_manifest(copied, quantBits=bits)
    refused(copied, BadContainer, "quantBits")


def test_a_mode_that_is_not_affine_is_named(copied):
    edit(copied / "config.json", lambda config: config["quantization"].update(mode="mxfp4"))
    relist(copied, "config.json")
    refused(copied, UnsupportedModel, "mxfp4")


def test_another_architecture(copied):
    edit(copied / "config.json", lambda config: config.update(model_type="llama"))
    relist(copied, "config.json")
    refused(copied, UnsupportedModel, "llama")


def test_a_missing_dense_tensor(copied):
    rewrite_dense(copied, lambda name: None if name == "model.norm.weight" else name)
    refused(copied, BadContainer, DENSE, "lacks", "model.norm.weight")


def test_a_tensor_under_two_names(copied):
    raw = (copied / DENSE).read_bytes()
    rewrite_dense(copied, lambda n: "language_model.lm_head.weight" if n == "lm_head.scales" else n)
    assert (copied / DENSE).read_bytes() != raw
    refused(copied, BadContainer, DENSE, "holds both")


def test_a_parameter_that_would_be_left_out_of_the_sum(copied):
    add_tensor(copied, "model.layers.3.self_attn.q_proj.bias")
    refused(copied, UnsupportedModel, "q_proj.bias")


def test_a_tensor_of_no_known_module_is_a_warning(copied):
    add_tensor(copied, "model.rotary_emb.inv_freq")
    (warning,) = open_container(copied).warnings
    assert "1 tensor" in warning


def test_vision_and_prediction_heads_pass_unnoticed(copied):
    for name in ("vision_tower.x", "mtp.x", "language_model.mtp.x", "model.visual.x"):
        add_tensor(copied, name)
    assert open_container(copied).warnings == ()


def add_tensor(folder: Path, name: str) -> None:
    """Append a small tensor to the dense file."""
    raw = (folder / DENSE).read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    header, end = json.loads(raw[8:start]), len(raw) - start
    header[name] = {"dtype": "F32", "shape": [2], "data_offsets": [end, end + 8]}
    text = json.dumps(header).encode()
    (folder / DENSE).write_bytes(len(text).to_bytes(8, "little") + text + raw[start:] + bytes(8))
    relist(folder, DENSE)


DENSE_FAULTS = [
    ("model.norm.weight", "F32", (63,), BadContainer, "[63]"),
    ("model.norm.weight", "U32", (64,), BadContainer, "U32"),
    ("lm_head.weight", "U32", (256, 15), UnsupportedModel, "lm_head"),
    ("lm_head.weight", "F32", (256, 8), UnsupportedModel, "lm_head"),
    ("lm_head.weight", "U32", (255, 8), UnsupportedModel, "[255, 8]"),
    ("lm_head.biases", "F32", (256, 2), BadContainer, "lm_head.biases"),
    ("lm_head.scales", "F32", (256, 3), UnsupportedModel, "[256, 3]"),
    ("model.layers.0.linear_attn.conv1d.weight", "F32", (256, 1, 4), BadContainer, "[256, 4, 1]"),
]


@pytest.mark.parametrize(("name", "dtype", "shape", "error", "word"), DENSE_FAULTS)
def test_a_misshapen_dense_tensor(name, dtype, shape, error, word, copied):
    original = open_container(copied).dense
    shapes = {n: (e.dtype, e.shape) for n, e in original.items()} | {name: (dtype, shape)}
    start, places = place_tensors(shapes)
    end = max(entry.offset + entry.size for entry in places.values())
    (copied / DENSE).write_bytes(start + bytes(end - len(start)))
    relist(copied, DENSE)
    refused(copied, error, DENSE, word)


def test_a_truncated_dense_file(copied):
    os.truncate(copied / DENSE, 100_000)
    relist(copied, DENSE)
    refused(copied, BadContainer, DENSE, "offsets")


def test_a_file_that_may_not_be_read_is_named(copied, monkeypatch):
    real = os.open

    def denied(path, flags, *rest):
        if str(path).endswith(LAYOUT):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", denied)
    refused(copied, BadContainer, "layout.json", "Permission denied")


# Whatever stands in the JSON files: refused or opened, never a crash.

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner)
)
FUZZ = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON tree."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    found = [path] if path else []
    for key, child in inner:
        below = isinstance(child, dict | list)
        found += paths_of(child, (*path, key)) if below else [(*path, key)]
    return found


@pytest.mark.parametrize("name", [MANIFEST, LAYOUT, "config.json"])
def test_fuzzed_fields_never_crash(name, copied):
    original = json.loads((copied / name).read_text())

    @FUZZ
    @given(place=st.sampled_from(paths_of(original)), value=JSON, drop=st.booleans())
    def fuzz(place, value, drop):
        data = json.loads(json.dumps(original))
        parent = data
        for key in place[:-1]:
            parent = parent[key]
        if drop:
            del parent[place[-1]]
        else:
            parent[place[-1]] = value
        (copied / name).write_text(json.dumps(data))
        if name != MANIFEST:
            relist(copied, name)
        with contextlib.suppress(MartletError):
            open_container(copied)

    fuzz()


@FUZZ
@given(raw=st.binary(max_size=200), name=st.sampled_from([MANIFEST, LAYOUT, "config.json", DENSE]))
def test_fuzzed_bytes_never_crash(raw, name, copied):
    before = (copied / name).read_bytes()
    (copied / name).write_bytes(raw)
    if name != MANIFEST:
        relist(copied, name)
    try:
        with pytest.raises(MartletError):
            open_container(copied)
    finally:
        (copied / name).write_bytes(before)
        if name != MANIFEST:
            relist(copied, name)
