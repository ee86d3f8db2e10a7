"""The disk's speed: measured on what is there, or on a file that is gone afterwards."""

from pathlib import Path

import pytest

from engine.container import probe
from engine.container.probe import READ_BYTES, probe_disk
from engine.container.volume import Volume
from engine.errors import MartletError


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_WRITTEN_BYTES", 8 * READ_BYTES)
    monkeypatch.setattr(probe, "_LEAST_BYTES", 4 * READ_BYTES)


def test_a_model_that_is_there_is_read_once(tmp_path: Path) -> None:
    layer = tmp_path / "tiny.qpack" / "packed_experts" / "layer_00.bin"
    layer.parent.mkdir(parents=True)
    layer.write_bytes(bytes(5 * READ_BYTES + 17))
    found = probe_disk(tmp_path)
    assert found
    assert found.bytes_read == 5 * READ_BYTES
    assert found.bytes_per_s > 0


def test_without_one_a_file_is_written_and_goes_again(tmp_path: Path) -> None:
    found = probe_disk(tmp_path / "models" / "not-there-yet")
    assert found
    assert found.bytes_read == 8 * READ_BYTES
    assert list(tmp_path.iterdir()) == []


def test_time_is_bounded(tmp_path: Path) -> None:
    found = probe_disk(tmp_path, seconds=0)
    assert found
    assert found.bytes_read == 0


def test_a_full_disk_is_not_filled_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = Volume(tmp_path, "Full", 10 * READ_BYTES, 10**12)
    monkeypatch.setattr(probe, "volume_of", lambda folder: full)
    assert probe_disk(tmp_path) is None


def test_a_failing_disk_is_an_error_a_person_can_act_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("os.preadv", fail)
    with pytest.raises(MartletError, match="Input/output error"):
        probe_disk(tmp_path)
