"""Checkpoints repacked while they come: what a local repack makes, without twice the disk."""

import json
import os
import shutil
from pathlib import Path

import pytest

from engine.container.checkpoint import INDEX
from engine.container.container import MANIFEST, open_container
from engine.container.repack import repack
from engine.errors import BadContainer
from engine.install.protocol import Begun, Done, Failed, Notice, Paused
from engine.install.routed import RoutedInstall
from engine.install.stop import Stop
from tests.engine.conftest import TinyModels
from tests.engine.fake_hub import COMMIT, FakeHub
from tests.engine.install.conftest import CHECKPOINT, Installer, files_of

SHARDS = [f"model-{number:05d}-of-00003.safetensors" for number in (1, 2, 3)]
SHARD = SHARDS[1]
LARGE = 50_000  # bytes: no header or norm has as many, and every shard has


@pytest.fixture(scope="session")
def repacked(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a local repack makes of it, from a folder that is named as the hub's cache does."""
    cache = tmp_path_factory.mktemp("cache")
    snapshot = cache / "models--acme--Tiny-MLX" / "snapshots" / COMMIT
    shutil.copytree(checkpoint, snapshot)
    return repack(snapshot, cache / "local.qpack").path


def test_it_is_what_a_local_repack_makes(
    hub: FakeHub, checkpoint: Path, repacked: Path, installer: Installer
) -> None:
    hub.add(CHECKPOINT, checkpoint)
    assert isinstance(installer.run(CHECKPOINT), Done)
    assert files_of(installer.target) == files_of(repacked)
    leftovers = {name for name in os.listdir(installer.target) if name.startswith(".")}
    assert leftovers == {".install-source.json"}
    [begun] = installer.heard(Begun)
    assert isinstance(begun, Begun)
    assert begun.kind == "checkpoint"


@pytest.mark.parametrize("family", ["qwen3_next", "qwen3_5_moe"])
def test_a_checkpoint_of_one_file_and_plain_floats(
    hub: FakeHub, tiny_models: TinyModels, installer: Installer, tmp_path: Path, family: str
) -> None:
    source = tiny_models.checkpoint(family, bits=None)  # type: ignore[arg-type]
    hub.add(CHECKPOINT, source)
    assert isinstance(installer.run(CHECKPOINT), Done)
    shutil.copytree(source, tmp_path / "Tiny-MLX")
    local = files_of(repack(tmp_path / "Tiny-MLX", tmp_path / "local").path)
    ours = files_of(installer.target)
    source_of = {MANIFEST, "hashes.json"}  # they name the source: a folder, a model on the hub
    assert {n: b for n, b in ours.items() if n not in source_of} == {
        n: b for n, b in local.items() if n not in source_of
    }


def test_a_local_checkpoint_goes_the_same_way(
    checkpoint: Path, repacked: Path, installer: Installer, tmp_path: Path
) -> None:
    snapshot = tmp_path / "models--acme--Tiny-MLX" / "snapshots" / COMMIT
    shutil.copytree(checkpoint, snapshot)
    assert isinstance(installer.run(str(snapshot)), Done)
    assert files_of(installer.target) == files_of(repacked)


def pours(hub: FakeHub) -> list[tuple[str, int]]:
    """(file, start) of the requests for weights; the others are for headers and norms."""
    return sorted((r.path, r.start or 0) for r in hub.requests if r.span >= LARGE)


def test_a_damaged_shard_alone_comes_again(
    hub: FakeHub, checkpoint: Path, repacked: Path, installer: Installer
) -> None:
    hub.add(CHECKPOINT, checkpoint)
    hub.fail(SHARD, "wrong bytes", least=LARGE)
    assert isinstance(installer.run(CHECKPOINT), Done)
    assert files_of(installer.target) == files_of(repacked)
    assert [name for name, _ in pours(hub)] == [SHARDS[0], SHARDS[1], SHARDS[1], SHARDS[2]]
    assert len(installer.heard(Notice)) == 1


def test_a_shard_that_stays_damaged_is_said_to_be(
    hub: FakeHub, checkpoint: Path, installer: Installer
) -> None:
    repository = hub.add(CHECKPOINT, checkpoint)
    size = (checkpoint / SHARD).stat().st_size
    lie = {"sha256": "0" * 64, "size": size, "pointerSize": 1}
    repository.listed[SHARD] = {"rfilename": SHARD, "size": size, "lfs": lie}
    outcome = installer.run(CHECKPOINT)
    assert isinstance(outcome, Failed)
    assert f"{SHARD} arrived damaged 3 times" in outcome.message
    assert (
        installer.heard(Notice)
        == [Notice(f"{SHARD} arrived damaged; it alone is fetched again.")] * 2
    )
    with pytest.raises(BadContainer):
        open_container(installer.target)


def test_a_checked_shard_is_not_fetched_again(
    hub: FakeHub,
    checkpoint: Path,
    repacked: Path,
    installer: Installer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.install.routed.HANDS", 1)
    hub.add(CHECKPOINT, checkpoint)
    fault = hub.fail(SHARD, "status", status=503, times=10**6, least=LARGE)
    assert isinstance(installer.run(CHECKPOINT), Failed)
    fault.times = 0
    hub.requests.clear()
    assert isinstance(installer.run(CHECKPOINT), Done)
    assert files_of(installer.target) == files_of(repacked)
    assert pours(hub) == [(SHARDS[1], 0), (SHARDS[2], 0)]


@pytest.mark.parametrize("after", [1, 90_000, 150_001])
def test_a_shard_goes_on_in_its_middle_and_is_still_checked_whole(
    hub: FakeHub,
    checkpoint: Path,
    repacked: Path,
    installer: Installer,
    monkeypatch: pytest.MonkeyPatch,
    after: int,
) -> None:
    end_at(hub, checkpoint, installer, monkeypatch, after)
    assert isinstance(installer.run(CHECKPOINT), Done)
    assert files_of(installer.target) == files_of(repacked)
    assert (SHARD, after) in pours(hub)


def end_at(
    hub: FakeHub,
    checkpoint: Path,
    installer: Installer,
    monkeypatch: pytest.MonkeyPatch,
    after: int,
) -> None:
    """An installation that failed `after` bytes of one shard, each of them in the journal."""
    monkeypatch.setattr("engine.container.installation.CHECKPOINT_BYTES", 1)
    hub.add(CHECKPOINT, checkpoint)
    hub.fail(SHARD, "short", after=after, least=LARGE)
    fault = hub.fail(SHARD, "status", status=404, times=10**6, least=LARGE)
    assert isinstance(installer.run(CHECKPOINT), Failed)
    fault.times = 0
    hub.requests.clear()


def test_a_lost_remainder_begins_its_shard_anew(
    hub: FakeHub,
    checkpoint: Path,
    repacked: Path,
    installer: Installer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    end_at(hub, checkpoint, installer, monkeypatch, 90_000)
    (installer.target / ".install-gaps" / SHARD).unlink()
    assert isinstance(installer.run(CHECKPOINT), Done)
    assert files_of(installer.target) == files_of(repacked)
    assert (SHARD, 0) in pours(hub)


def test_what_a_power_cut_spoiled_is_noticed(
    hub: FakeHub,
    checkpoint: Path,
    repacked: Path,
    installer: Installer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    end_at(hub, checkpoint, installer, monkeypatch, 150_001)
    for layer in installer.target.glob("packed_experts/layer_*.bin"):
        layer.write_bytes(bytes(layer.stat().st_size))
    assert isinstance(installer.run(CHECKPOINT), Done)
    damaged = Notice(f"{SHARD} arrived damaged; it alone is fetched again.")
    assert damaged in installer.heard(Notice)


def test_the_disk_never_holds_it_twice(
    hub: FakeHub, checkpoint: Path, installer: Installer
) -> None:
    hub.add(CHECKPOINT, checkpoint)
    whole = sum(p.stat().st_size for p in checkpoint.rglob("*") if p.is_file())
    most = [0]

    def measure(served: int) -> None:
        there = (p.lstat() for p in installer.target.rglob("*") if p.is_file())
        most[0] = max(most[0], sum(status.st_blocks * 512 for status in there))

    hub.on_bytes = measure
    assert isinstance(installer.run(CHECKPOINT), Done)
    assert 0 < most[0] < 1.5 * whole


def test_a_raw_checkpoint_is_refused_before_its_weights_come(
    hub: FakeHub, tiny_models: TinyModels, installer: Installer, tmp_path: Path
) -> None:
    source = tmp_path / "raw"
    shutil.copytree(tiny_models.checkpoint("qwen3_next", bits=4), source)
    data = (source / "model.safetensors").read_bytes()
    name, other = b"mlp.switch_mlp.gate_proj", b"mlp.experts.0.xgate_proj"
    assert len(name) == len(other)
    (source / "model.safetensors").write_bytes(data.replace(name, other))
    hub.add(CHECKPOINT, source)
    outcome = installer.run(CHECKPOINT)
    assert isinstance(outcome, Failed)
    assert "not in MLX's form" in outcome.message
    assert not installer.target.exists()
    assert hub.served < 100_000


def test_another_architecture_is_refused_by_its_config_alone(
    hub: FakeHub, checkpoint: Path, installer: Installer, tmp_path: Path
) -> None:
    source = tmp_path / "other"
    shutil.copytree(checkpoint, source)
    (source / "config.json").write_text(json.dumps({"model_type": "llama"}))
    hub.add(CHECKPOINT, source)
    outcome = installer.run(CHECKPOINT)
    assert isinstance(outcome, Failed)
    assert outcome.kind == "UnsupportedModel"
    assert hub.served == 0


def test_an_index_that_lies_is_refused(
    hub: FakeHub, checkpoint: Path, installer: Installer, tmp_path: Path
) -> None:
    source = tmp_path / "lying"
    shutil.copytree(checkpoint, source)
    index = json.loads((source / INDEX).read_text())
    first = next(iter(index["weight_map"]))
    index["weight_map"][first] = "../../etc/passwd"
    (source / INDEX).write_text(json.dumps(index))
    hub.add(CHECKPOINT, source)
    outcome = installer.run(CHECKPOINT)
    assert isinstance(outcome, Failed)
    assert outcome.kind in ("BadContainer", "BadCheckpoint")


def test_a_model_of_neither_kind_is_refused(
    hub: FakeHub, installer: Installer, tmp_path: Path
) -> None:
    (tmp_path / "README.md").write_text("Hello")
    hub.add(CHECKPOINT, tmp_path)
    outcome = installer.run(CHECKPOINT)
    assert isinstance(outcome, Failed)
    assert outcome.kind == "UnsupportedModel"


def test_hashing_can_be_stopped_and_fetches_nothing_again(
    hub: FakeHub, checkpoint: Path, installer: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add(CHECKPOINT, checkpoint)
    stop = Stop()
    hashed = RoutedInstall._hashed

    def pause(install: RoutedInstall, count: int) -> None:
        stop.ask("pause")
        hashed(install, count)

    monkeypatch.setattr(RoutedInstall, "_hashed", pause)
    assert isinstance(installer.run(CHECKPOINT, stop=stop), Paused)
    assert not (installer.target / MANIFEST).exists()
    monkeypatch.setattr(RoutedInstall, "_hashed", hashed)
    hub.requests.clear()
    assert isinstance(installer.run(CHECKPOINT), Done)
    assert pours(hub) == []
