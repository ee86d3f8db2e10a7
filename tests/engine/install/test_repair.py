"""Repair: what is bad comes again, and nothing else."""

import json
import os
from pathlib import Path

import pytest

from engine.container.container import JOURNAL, MANIFEST, open_container
from engine.container.hashes import HASHES
from engine.container.verify import verify
from engine.errors import BadContainer
from engine.install.protocol import Done, Failed
from tests.engine.fake_hub import FakeHub
from tests.engine.install.conftest import CHECKPOINT, MODEL, Installer, files_of

LAYER = "packed_experts/layer_01.bin"


def spoil(path: Path, at: int = 1000) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 0xFF]))


@pytest.fixture(params=[MODEL, CHECKPOINT])
def source(request: pytest.FixtureRequest, hub: FakeHub, container: Path, checkpoint: Path) -> str:
    """Either kind, on the hub."""
    hub.add(request.param, container if request.param == MODEL else checkpoint)
    return str(request.param)


@pytest.fixture
def whole(installer: Installer, source: str, hub: FakeHub) -> dict[str, bytes]:
    """The files of an installation that was whole."""
    assert isinstance(installer.run(source), Done)
    hub.requests.clear()
    return files_of(installer.target)


def test_a_byte_that_turned_is_fetched_alone(
    hub: FakeHub, installer: Installer, source: str, whole: dict[str, bytes]
) -> None:
    spoil(installer.target / LAYER)
    assert not verify(installer.target).ok
    assert isinstance(installer.run(source, repair=True), Done)
    assert files_of(installer.target) == whole
    if source == MODEL:
        assert {r.path for r in hub.requests if r.host == "storage"} == {LAYER}
    else:
        fetched = sum(r.span for r in hub.requests)
        headers = 60_000  # of three shards, and a few norms
        assert fetched < (installer.target / LAYER).stat().st_size + headers


def test_files_that_are_missing_or_cut_come_back(
    installer: Installer, source: str, whole: dict[str, bytes]
) -> None:
    (installer.target / "model.safetensors").unlink()
    (installer.target / "config.json").unlink()
    (installer.target / "chat_template.jinja").write_text("spoiled")
    os.truncate(installer.target / "packed_experts" / "layer_03.bin", 17)
    (installer.target / "packed_experts" / "layout.json").write_text("{}")
    assert isinstance(installer.run(source, repair=True), Done)
    assert files_of(installer.target) == whole


def test_a_manifest_that_is_damaged_or_gone_comes_back(
    installer: Installer, source: str, whole: dict[str, bytes]
) -> None:
    (installer.target / MANIFEST).write_text("{")
    assert isinstance(installer.run(source, repair=True), Done)
    (installer.target / MANIFEST).unlink()
    assert isinstance(installer.run(source, repair=True), Done)
    assert files_of(installer.target) == whole


def test_what_is_whole_stays_and_nothing_large_is_fetched(
    hub: FakeHub, installer: Installer, source: str, whole: dict[str, bytes]
) -> None:
    assert isinstance(installer.run(source, repair=True), Done)
    assert files_of(installer.target) == whole
    assert not [r for r in hub.requests if r.span > 50_000]


def test_a_repair_that_is_cut_off_is_no_model_and_goes_on(
    hub: FakeHub, installer: Installer, source: str, whole: dict[str, bytes]
) -> None:
    spoil(installer.target / LAYER)
    fault = hub.fail("", "short", times=10**6, host="storage", least=5_000)
    if source == CHECKPOINT:
        fault.least = 16_385  # its headers are asked for first
    assert isinstance(installer.run(source, repair=True), Failed)
    with pytest.raises(BadContainer):
        open_container(installer.target)
    fault.times = 0
    assert isinstance(installer.run(source), Done)  # not even asked to repair
    assert files_of(installer.target) == whole


def test_offline_a_repair_leaves_all_as_it_was(
    hub: FakeHub, installer: Installer, source: str, whole: dict[str, bytes]
) -> None:
    hub.fail("/api/models", "status", status=503, times=10**6)
    assert isinstance(installer.run(source, repair=True), Failed)
    assert files_of(installer.target) == whole
    assert not (installer.target / JOURNAL).exists()


def test_without_its_hashes_a_repacked_one_cannot_be_repaired(
    hub: FakeHub, checkpoint: Path, installer: Installer
) -> None:
    hub.add(CHECKPOINT, checkpoint)
    installer.run(CHECKPOINT)
    (installer.target / HASHES).write_text(json.dumps({"files": {}}))
    outcome = installer.run(CHECKPOINT, repair=True)
    assert isinstance(outcome, Failed)
    assert "nothing says what is bad" in outcome.message
