"""Disks that are too small, that fill, and that go away."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.container.removal import remove_model
from engine.container.volume import Volume, place_name, volume_of
from engine.errors import NotEnoughDisk
from engine.install import room
from engine.install.protocol import Done, Paused
from tests.engine.fake_hub import FakeHub
from tests.engine.install.conftest import CHECKPOINT, MODEL, Installer, files_of

TINY_DISK = 1 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A volume of one MiB."""
    mount = tmp_path / "Small Disk"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={TINY_DISK}", "tmpfs", str(mount)]
    try:
        made = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("this system has no mount command")
    if made.returncode:
        pytest.skip(f"mounting is not allowed here: {made.stderr.strip()}")
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=True)


def set_free(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    disk = Volume(Path("/"), "Samsung T7", free, 10**12)
    for module in ("engine.install.room", "engine.install.install"):
        monkeypatch.setattr(f"{module}.volume_of", lambda path: disk)


@pytest.mark.parametrize("source", [MODEL, CHECKPOINT])
def test_too_small_a_disk_is_refused_before_anything_large_comes(
    hub: FakeHub,
    container: Path,
    checkpoint: Path,
    installer: Installer,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
) -> None:
    hub.add(source, container if source == MODEL else checkpoint)
    set_free(monkeypatch, 2_000_000_000)
    outcome = installer.run(source, anyway=False)
    assert isinstance(outcome, Paused)
    assert (outcome.reason, outcome.volume) == ("disk", "Samsung T7")
    assert 2_000_000_000 < outcome.wanted_free_bytes < 2_010_000_000
    assert "“Samsung T7” has 2.0 GB free" in outcome.message
    assert not installer.target.exists()
    assert hub.served < 100_000


def test_it_can_be_tried_anyway(
    hub: FakeHub, container: Path, installer: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add(MODEL, container)
    set_free(monkeypatch, 2_000_000_000)
    assert isinstance(installer.run(MODEL, anyway=True), Done)


def test_the_margin_is_a_tenth_and_two_gigabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    set_free(monkeypatch, 24_000_000_000)
    room.check_room(Path("/"), 20_000_000_000)
    with pytest.raises(NotEnoughDisk, match=r"24\.0 GB free, 21\.0 GB still to come"):
        room.check_room(Path("/"), 21_000_000_000)
    room.check_room(Path("/"), 40_000_000_000, 22_000_000_000)  # most of it is there


def test_a_disk_that_others_fill_is_left_with_some_room(
    hub: FakeHub, container: Path, installer: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add(MODEL, container)
    monkeypatch.setattr("engine.install.pulse.BEAT_S", 0.01)
    hub.fail("layer_01", "slow", after=20_000)
    hub.on_bytes = lambda served: set_free(monkeypatch, 60_000)
    set_free(monkeypatch, 10**12)
    outcome = installer.run(MODEL, anyway=False)
    assert isinstance(outcome, Paused)
    assert outcome.reason == "disk"
    hub.on_bytes = lambda served: None
    set_free(monkeypatch, 10**12)
    hub.resume.set()
    assert isinstance(installer.run(MODEL, anyway=False), Done)


@pytest.mark.parametrize("source", [MODEL, CHECKPOINT])
def test_a_disk_that_fills_pauses_and_goes_on_when_there_is_room(
    hub: FakeHub,
    container: Path,
    checkpoint: Path,
    small_disk: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
) -> None:
    monkeypatch.setattr("engine.container.installation.check_space", lambda *sizes: None)
    hub.add(source, container if source == MODEL else checkpoint)
    (small_disk / "holiday.mov").write_bytes(bytes(TINY_DISK // 2))
    installer = Installer(small_disk / "models" / "tiny.qpack")
    outcome = installer.run(source)
    assert isinstance(outcome, Paused)
    assert (outcome.reason, outcome.volume) == ("disk", "Small Disk")
    (small_disk / "holiday.mov").unlink()
    _grow(small_disk)
    there = {p.name: p.stat().st_size for p in installer.target.rglob("*") if p.is_file()}
    assert there
    assert isinstance(installer.run(source), Done)
    if source == MODEL:
        assert files_of(installer.target) == files_of(container)


def _grow(mount: Path) -> None:
    subprocess.run(["mount", "-o", f"remount,size={8 * TINY_DISK}", str(mount)], check=True)


def test_a_full_disk_can_be_cancelled_from(hub: FakeHub, container: Path, small_disk: Path) -> None:
    hub.add(MODEL, container)
    installer = Installer(small_disk / "tiny.qpack")
    (small_disk / "holiday.mov").write_bytes(bytes(TINY_DISK // 2))
    assert isinstance(installer.run(MODEL), Paused)
    before = shutil.disk_usage(small_disk).free
    removal = remove_model(installer.target)
    assert removal.kept == ()
    assert shutil.disk_usage(small_disk).free >= before + removal.freed_bytes


def test_a_disk_that_is_pulled_out_pauses_and_is_named(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    models, away = installer.target.parent, installer.target.parent.with_name("away")

    def pull(served: int) -> None:
        hub.on_bytes = lambda served: None
        models.rename(away)

    hub.on_bytes = pull
    outcome = installer.run(MODEL)
    assert isinstance(outcome, Paused)
    assert outcome.reason == "volume"
    assert str(models) in outcome.message
    away.rename(models)
    assert isinstance(installer.run(MODEL), Done)
    assert files_of(installer.target) == files_of(container)


def test_a_mac_volume_has_its_name() -> None:
    assert place_name(Path("/Volumes/Samsung T7/models/a.qpack")) == "Samsung T7"
    assert place_name(Path("/Users/ada/models")) == "/Users/ada/models"


def test_a_volume_that_is_not_mounted_is_never_written_to(
    hub: FakeHub, container: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Creating its folder would fill the startup disk under the same name."""
    hub.add(MODEL, container)
    outcome = Installer(Path("/Volumes/Not There/models/tiny.qpack")).run(MODEL)
    assert isinstance(outcome, Paused)
    assert (outcome.reason, outcome.volume) == ("volume", "Not There")
    assert not os.path.exists("/Volumes/Not There")


def test_the_volume_of_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    volume = volume_of(tmp_path / "a" / "b")
    assert os.path.ismount(volume.mount)
    assert 0 < volume.free_bytes <= volume.total_bytes
