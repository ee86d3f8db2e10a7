"""Repacking: the result read by an independent reader, and what a kill at any moment leaves."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from engine.container.container import JOURNAL, MANIFEST, open_container
from engine.container.progress import Progress
from engine.container.repack import repack
from engine.errors import BadOption, Cancelled, MartletError, NotEnoughDisk, UnsupportedModel
from tests.engine.container.page_reader import PageReader, read_source
from tests.engine.tiny import FAMILIES, make_checkpoint

WIDTHS = [
    {"bits": None},
    {"bits": 4, "group_size": 64},
    {"bits": 4, "group_size": 32, "shards": 3},
    {"bits": 8, "group_size": 64},
    {"bits": "mixed", "group_size": 32, "shards": 2},
    {"bits": 4, "group_size": 64, "dtype": mx.bfloat16},
    {"bits": 4, "group_size": 64, "dtype": mx.float16},
]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("how", WIDTHS, ids=str)
def test_another_reader_finds_the_source_tensors(family, how, tiny_models):
    source = {
        name.removeprefix("language_model."): tensor
        for name, tensor in read_source(tiny_models.checkpoint(family, **how)).items()
    }
    reader = PageReader(tiny_models.container(family, **how))
    experts = [reader.expert(layer, e) for layer in range(4) for e in range(16)]
    for name, tensor in source.items():
        if ".switch_mlp." not in name:
            np.testing.assert_array_equal(reader.dense(name), tensor, strict=True)
            continue
        layer, section = int(name.split(".")[2]), name.partition(".switch_mlp.")[2]
        found = np.stack([e[section] for e in experts[16 * layer : 16 * layer + 16]])
        np.testing.assert_array_equal(found, tensor, strict=True)
    assert len(reader.header) == sum(".switch_mlp." not in name for name in source)


def test_the_manifest_lists_every_file_and_the_experts_real_width(tiny_models):
    folder = tiny_models.container("qwen3_5_moe", bits="mixed", group_size=32)
    manifest = PageReader(folder).manifest
    listed = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert set(manifest["files"]) == listed - {"manifest.json", "hashes.json"}
    assert {name: (folder / name).stat().st_size for name in manifest["files"]} == manifest["files"]
    assert (manifest["quantBits"], manifest["quantGroupSize"]) == (4, 32)
    assert manifest["modelName"] == "qwen3_5_moe_text"
    assert (manifest["magic"], manifest["version"]) == ("QPACK", 1)


def test_an_unquantized_checkpoint_records_no_width(tiny_models):
    manifest = PageReader(tiny_models.container("qwen3_next", bits=None)).manifest
    assert "quantBits" not in manifest
    assert "quantGroupSize" not in manifest


def test_small_files_are_kept_as_they_are(tiny_models):
    source = tiny_models.checkpoint("qwen3_next")
    folder = tiny_models.container("qwen3_next")
    for name in ("config.json", "generation_config.json", "chat_template.jinja"):
        assert (folder / name).read_bytes() == (source / name).read_bytes()
    assert not (folder / "model.safetensors.index.json").exists()
    assert not (folder / JOURNAL).exists()


def test_the_blob_is_laid_out_as_the_format_says(tiny_models):
    layout = PageReader(tiny_models.container("qwen3_next", bits=4, group_size=32)).layout
    sections = [(s["name"], s["offset"], s["size"]) for s in layout["sections"]]
    assert sections[:4] == [
        ("gate_proj.weight", 0, 2048),
        ("gate_proj.scales", 2048, 512),
        ("gate_proj.biases", 2560, 512),
        ("up_proj.weight", 3072, 2048),
    ]
    assert layout["expertStride"] == 16384
    assert layout["linearLayers"] == [True, True, True, False]


@pytest.mark.parametrize(("bits", "group"), [(2, 32), (3, 64), (5, 128), (6, 64), (8, 128)])
def test_every_width_that_mlx_stores(bits, group, tmp_path):
    source = make_checkpoint(
        tmp_path / "source", bits=bits, group_size=group, hidden_size=128,
        moe_intermediate_size=128, shared_expert_intermediate_size=128,
        linear_num_value_heads=4, num_experts=4, num_experts_per_tok=2,
    )  # fmt: skip
    container = repack(source, tmp_path / "packed")
    assert (container.expert_bits, container.expert_group_size) == (bits, group)
    assert container.warnings == ()


def test_links_of_a_cache_are_followed_and_the_repository_named(tiny_models, tmp_path):
    original = tiny_models.checkpoint("qwen3_5_moe", shards=2)
    blobs = tmp_path / "models--martlet--tiny" / "blobs"
    snapshot = tmp_path / "models--martlet--tiny" / "snapshots" / "0123abcd"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for number, path in enumerate(original.iterdir()):
        shutil.copy(path, blobs / str(number))
        (snapshot / path.name).symlink_to(Path("../../blobs") / str(number))
    container = repack(snapshot, tmp_path / "packed")
    assert container.manifest.source == "martlet/tiny"
    assert not any(path.is_symlink() for path in container.path.rglob("*"))
    assert container.identity == open_container(tiny_models.container("qwen3_5_moe")).identity


def test_progress_counts_copied_then_hashed_bytes(tiny_models, tmp_path):
    heard: list[Progress] = []
    repack(tiny_models.checkpoint("qwen3_next"), tmp_path / "packed", progress=heard.append)
    for phase in ("copy", "hash"):
        steps = [step for step in heard if step.phase == phase]
        assert [step.done for step in steps] == sorted(step.done for step in steps)
        assert steps[-1].done == steps[-1].total > 0
    assert [step.phase for step in heard] == sorted(step.phase for step in heard)


def test_cancel_then_go_on(tiny_models, tmp_path):
    source, dest = tiny_models.checkpoint("qwen3_next", shards=4), tmp_path / "packed"
    steps: list[Progress] = []
    with pytest.raises(Cancelled):
        repack(source, dest, progress=steps.append, cancelled=lambda: len(steps) > 2)
    assert not (dest / MANIFEST).exists()
    again: list[Progress] = []
    repack(source, dest, progress=again.append)
    assert again[0].done > 0  # what the first run finished is not copied again
    assert_same_files(dest, tiny_models.container("qwen3_next"))


def assert_same_files(folder: Path, expected: Path) -> None:
    """Byte equality, but for the source's name in the manifest and so its hash."""
    names = {path.relative_to(expected) for path in expected.rglob("*") if path.is_file()}
    assert {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()} == names
    for name in names - {Path("manifest.json"), Path("hashes.json")}:
        assert (folder / name).read_bytes() == (expected / name).read_bytes(), name
    found, wanted = (json.loads((f / "manifest.json").read_text()) for f in (folder, expected))
    assert found | {"sourceCheckpoint": ""} == wanted | {"sourceCheckpoint": ""}


# Kills its own process in the middle: at the Nth report of progress, or instead of the Nth durable
# replacement of a file. Small chunks and checkpoints make many such moments.
_KILLED = """
import os, signal, sys
from pathlib import Path
from engine.container import durable, files, installation, json_file
from engine.container.repack import repack

source, dest, what, moment = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
files.CHUNK_BYTES = 20_000
installation.CHECKPOINT_BYTES = 100_000
count = 0

def step(kind):
    global count
    count += kind == what
    if count == moment:
        os.kill(os.getpid(), signal.SIGKILL)

def replace_file(path, data, real=durable.replace_file):
    path.with_name(path.name + durable.TEMPORARY).write_bytes(data[: len(data) // 2])
    step("replace")
    real(path, data)
    step("replaced")

installation.replace_file = json_file.replace_file = replace_file
repack(source, dest, progress=lambda progress: step(progress.phase))
"""

MOMENTS = [
    ("replace", 1),  # the first journal is half written
    ("replaced", 1),
    ("copy", 2),
    ("copy", 9),
    ("copy", 31),
    ("replace", 4),
    ("hash", 1),
    ("hash", 30),
]


@pytest.fixture(scope="module")
def replacements(tiny_models, tmp_path_factory):
    """How many durable replacements a whole run makes; the last two are hashes and manifest."""
    script = _KILLED + "\nprint(count)\n"
    args = [str(tiny_models.checkpoint("qwen3_next", shards=3)), "replace"]
    dest = tmp_path_factory.mktemp("counted") / "packed"
    done = _run(script, args[0], dest, "replace", 10**9)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def _run(script: str, source: object, dest: Path, what: str, moment: int):
    return subprocess.run(
        [sys.executable, "-c", script, str(source), str(dest), what, str(moment)],
        capture_output=True, text=True, timeout=120, env=os.environ | {"PYTHONPATH": "."},
        cwd=Path(__file__).parents[3], check=False,
    )  # fmt: skip


def _check_killed(tiny_models, dest: Path, what: str, moment: int, *, complete: bool) -> None:
    source = tiny_models.checkpoint("qwen3_next", shards=3)
    killed = _run(_KILLED, source, dest, what, moment)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    if complete:
        open_container(dest)
    else:
        with pytest.raises(MartletError):
            open_container(dest)
    repack(source, dest)
    assert not any(path.name.endswith(".tmp") for path in dest.rglob("*"))
    assert_same_files(dest, tiny_models.container("qwen3_next"))


@pytest.mark.parametrize(("what", "moment"), MOMENTS)
def test_a_killed_run_is_never_complete_and_can_go_on(what, moment, tiny_models, tmp_path):
    _check_killed(tiny_models, tmp_path / "packed", what, moment, complete=False)


@pytest.mark.parametrize("from_last", [1, 0])
def test_a_kill_before_hashes_or_manifest(from_last, replacements, tiny_models, tmp_path):
    moment = replacements - from_last
    _check_killed(tiny_models, tmp_path / "packed", "replace", moment, complete=False)


def test_a_kill_after_the_manifest_leaves_a_complete_model(replacements, tiny_models, tmp_path):
    dest = tmp_path / "packed"
    _check_killed(tiny_models, dest, "replaced", replacements, complete=True)
    assert not (dest / JOURNAL).exists()


def test_a_destination_that_holds_something_else_is_left_alone(tiny_models, tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(BadOption, match=r"letter\.txt"):
        repack(tiny_models.checkpoint("qwen3_next"), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_complete_model_is_not_written_over(tiny_models):
    folder = tiny_models.container("qwen3_next")
    with pytest.raises(BadOption, match="complete model"):
        repack(tiny_models.checkpoint("qwen3_next"), folder)
    open_container(folder)


def test_an_unfinished_installation_of_another_model_is_left_alone(tiny_models, tmp_path):
    dest, other = tmp_path / "packed", tiny_models.checkpoint("qwen3_5_moe")
    steps: list[Progress] = []
    with pytest.raises(Cancelled):
        repack(other, dest, progress=steps.append, cancelled=lambda: len(steps) > 0)
    journal = (dest / JOURNAL).read_bytes()
    with pytest.raises(BadOption, match="something else"):
        repack(tiny_models.checkpoint("qwen3_next"), dest)
    assert (dest / JOURNAL).read_bytes() == journal


def test_a_lost_file_restarts_the_copy(tiny_models, tmp_path):
    source, dest = tiny_models.checkpoint("qwen3_next", shards=4), tmp_path / "packed"
    steps: list[Progress] = []
    with pytest.raises(Cancelled):
        repack(source, dest, progress=steps.append, cancelled=lambda: len(steps) > 3)
    (dest / "packed_experts" / "layer_01.bin").unlink()
    repack(source, dest)
    assert_same_files(dest, tiny_models.container("qwen3_next"))


def test_two_runs_at_once_are_refused(tiny_models, tmp_path):
    source, dest = tiny_models.checkpoint("qwen3_next"), tmp_path / "packed"
    refused = []

    def start_another(progress: Progress) -> None:
        if not refused:
            refused.append(True)
            with pytest.raises(BadOption, match="another process"):
                repack(source, dest)

    repack(source, dest, progress=start_another)
    assert refused


def test_disk_space_is_checked_before_anything_is_written(tiny_models, tmp_path, monkeypatch):
    usage = type(shutil.disk_usage(tmp_path))(10**9, 10**9, 1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(NotEnoughDisk, match=r"0\.00 GB free"):
        repack(tiny_models.checkpoint("qwen3_next"), tmp_path / "packed")
    assert list((tmp_path / "packed").iterdir()) == []


def test_a_disk_that_fills_up_is_named_and_the_run_can_go_on(tiny_models, tmp_path, monkeypatch):
    source, dest = tiny_models.checkpoint("qwen3_next", shards=3), tmp_path / "packed"
    calls = []

    def full(fd, data, offset, real=os.pwrite):
        calls.append(offset)
        if len(calls) > 40:
            raise OSError(28, "No space left on device")
        return real(fd, data[: len(data) // 2 + 1], offset)  # and short writes until then

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(NotEnoughDisk, match="is full"):
            repack(source, dest)
    repack(source, dest)
    assert_same_files(dest, tiny_models.container("qwen3_next"))


def test_a_disk_that_fails_is_named(tiny_models, tmp_path, monkeypatch):
    def broken(fd, data, offset):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "pwrite", broken)
    with pytest.raises(MartletError, match="Input/output error"):
        repack(tiny_models.checkpoint("qwen3_next"), tmp_path / "packed")


def test_experts_of_mixed_widths_are_refused_naming_the_layers(tmp_path):
    source = make_checkpoint(tmp_path / "source", bits=8, group_size=32, seed=1)
    other = make_checkpoint(tmp_path / "other", bits=4, group_size=32, seed=1)
    tensors = mx.load(str(source / "model.safetensors"))
    swapped = {
        name: tensor
        for name, tensor in mx.load(str(other / "model.safetensors")).items()
        if "layers.2.mlp.switch_mlp" in name
    }
    mx.save_safetensors(str(source / "model.safetensors"), tensors | swapped)
    with pytest.raises(UnsupportedModel, match=r"8 bits .* in layers 0, 1, 3; 4 bits .* layer 2"):
        repack(source, tmp_path / "packed")
    assert not (tmp_path / "packed").exists()


# Room for Python, numpy and the two buffers of a copy; far below the 120 MB that are moved.
_BOUNDED = """
import resource, sys
from pathlib import Path
from engine.container.repack import repack

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
repack(Path(sys.argv[1]), Path(sys.argv[2]))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


def test_memory_is_bounded_by_the_buffers(tmp_path):
    source = make_checkpoint(
        tmp_path / "source", bits=None, vocab_size=32768, hidden_size=256,
        moe_intermediate_size=256,
    )  # fmt: skip
    done = _run(_BOUNDED, source, tmp_path / "packed", "", 0)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 40_000_000
