"""verify: every kind of damage is found, and all of it at once."""

import json
import os
import shutil
from pathlib import Path

import mlx.core as mx
import pytest

from engine.container.comparison import Fault
from engine.container.container import DENSE, LAYOUT, MANIFEST, open_container
from engine.container.hashes import HASHES
from engine.container.progress import Progress
from engine.container.verify import verify
from engine.errors import Cancelled, MartletError, ModelNotFound
from tests.engine.tiny import FAMILIES

LAYER = "packed_experts/layer_01.bin"


@pytest.fixture
def copied(tiny_models, tmp_path) -> Path:
    """A container that a test may damage."""
    return shutil.copytree(tiny_models.container("qwen3_next"), tmp_path / "copied")


@pytest.fixture
def source(tiny_models) -> Path:
    """The checkpoint that it was made of."""
    return tiny_models.checkpoint("qwen3_next")


def flip(path: Path, at: int) -> None:
    """Change one byte."""
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.write_bytes(raw)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("how", [{"bits": None}, {"bits": "mixed", "group_size": 32}], ids=str)
def test_a_container_packed_here_is_right_in_all_degrees(family, how, tiny_models):
    folder, source = tiny_models.container(family, **how), tiny_models.checkpoint(family, **how)
    report = verify(folder, source)
    assert report.faults == ()
    assert report.ok
    assert report.file_count == report.hashed_count == 10
    assert report.compared_count == len(mx.load(str(source / "model.safetensors")))


def test_without_hashes_only_sizes_are_compared(copied):
    (copied / HASHES).unlink()
    flip(copied / LAYER, 100)
    report = verify(copied)
    assert report.ok
    assert (report.hashed_count, report.compared_count) == (0, 0)


def test_a_flipped_bit_is_found_by_its_hash(copied):
    flip(copied / LAYER, 100)
    (fault,) = verify(copied).faults
    assert fault.file == LAYER
    assert "SHA-256" in fault.what


def test_a_flipped_bit_is_found_in_the_source(copied, source):
    (copied / HASHES).unlink()
    layout = open_container(copied).layout
    flip(copied / LAYER, 3 * layout.stride + layout.section("up_proj.scales").offset)
    flip(copied / DENSE, open_container(copied).dense["lm_head.weight"].offset + 7)
    assert set(verify(copied, source).faults) == {
        Fault(LAYER, "Expert 3's up_proj.scales differs from the source."),
        Fault(DENSE, "lm_head.weight differs from the source."),
    }


def test_a_wrong_hash_does_not_stop_the_comparison(copied, source):
    flip(copied / LAYER, 100)
    whats = [fault.what for fault in verify(copied, source).faults]
    assert len(whats) == 2
    assert whats[1] == "Expert 0's gate_proj.weight differs from the source."


def test_padding_is_nobodys(copied, source):
    (copied / HASHES).unlink()
    flip(copied / LAYER, open_container(copied).layout.stride - 1)
    assert verify(copied, source).ok


def test_everything_wrong_is_listed(copied):
    flip(copied / LAYER, 100)
    os.truncate(copied / "packed_experts/layer_02.bin", 77)
    (copied / "packed_experts/layer_03.bin").unlink()
    flip(copied / "config.json", 30)
    faults = {fault.file: fault.what for fault in verify(copied).faults}
    assert set(faults) == {
        LAYER, "packed_experts/layer_02.bin", "packed_experts/layer_03.bin", "config.json",
    }  # fmt: skip
    assert "77 bytes" in faults["packed_experts/layer_02.bin"]
    assert "missing" in faults["packed_experts/layer_03.bin"]


def test_a_damaged_file_is_told_once(copied, source):
    os.truncate(copied / LAYER, 77)
    (fault,) = verify(copied, source).faults
    assert fault == Fault(LAYER, "It has 77 bytes, expected 262144.")


def test_another_models_source_is_told(copied, tiny_models):
    report = verify(copied, tiny_models.checkpoint("qwen3_next", bits=8))
    expected = "gate_proj.weight is U32 [64, 8], the source has U32 [64, 16]."
    assert Fault(LAYOUT, expected) in report.faults
    assert sum(fault.file == LAYOUT for fault in report.faults) == 3


def test_missing_and_additional_tensors_are_told(copied, source, tmp_path):
    other = shutil.copytree(source, tmp_path / "other")
    tensors = mx.load(str(other / "model.safetensors"))
    tensors["model.more.weight"] = tensors.pop("model.norm.weight")
    mx.save_safetensors(str(other / "model.safetensors"), tensors)
    assert set(verify(copied, other).faults) == {
        Fault(DENSE, "model.norm.weight is not in the source."),
        Fault(DENSE, "model.more.weight is missing."),
    }


@pytest.mark.parametrize("name", [MANIFEST, "packed_experts/layout.json", HASHES])
def test_an_unreadable_list_is_a_fault_like_others(name, copied):
    (copied / name).write_text("{")
    flip(copied / LAYER, 100)
    files = [fault.file for fault in verify(copied).faults]
    assert name in files
    assert (LAYER in files) == (name != HASHES)


def test_a_hash_of_a_file_outside_is_not_computed(copied):
    (copied / HASHES).write_text(json.dumps({"files": {"../../secret": "00"}}))
    (fault,) = verify(copied).faults
    assert fault.file == HASHES


def test_what_contradicts_itself_is_a_fault(copied):
    manifest = json.loads((copied / MANIFEST).read_text())
    config = json.loads((copied / "config.json").read_text()) | {"num_experts": 8}
    (copied / "config.json").write_text(json.dumps(config))
    manifest["files"]["config.json"] = (copied / "config.json").stat().st_size
    (copied / MANIFEST).write_text(json.dumps(manifest))
    (copied / HASHES).unlink()
    (fault,) = verify(copied).faults
    assert "num_experts 8" in fault.what


def test_no_folder(tmp_path):
    with pytest.raises(ModelNotFound):
        verify(tmp_path / "nothing")


def test_a_bad_source_is_an_error_not_a_fault(copied, tmp_path):
    (tmp_path / "source").mkdir()
    with pytest.raises(MartletError, match=r"config\.json"):
        verify(copied, tmp_path / "source")


def test_progress_and_cancel(copied, source):
    heard: list[Progress] = []
    verify(copied, source, progress=heard.append)
    for phase in ("hash", "compare"):
        last = [step for step in heard if step.phase == phase][-1]
        assert last.done == last.total > 0
    with pytest.raises(Cancelled):
        verify(copied, source, cancelled=lambda: True)
