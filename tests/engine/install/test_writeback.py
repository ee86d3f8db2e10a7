"""Writeback: every stretch is sent to the disk once, and none of it is a promise or a fault."""

import errno
import os
from pathlib import Path

import pytest

from engine.install import writeback
from engine.install.protocol import Done
from engine.install.writeback import STRETCH_BYTES, Writeback
from tests.engine.fake_hub import FakeHub
from tests.engine.install.conftest import MODEL, Installer, files_of

Sent = list[tuple[str, int, int]]

pytestmark = pytest.mark.skipif(
    not hasattr(os, "posix_fadvise"), reason="this system begins by itself"
)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """(file's name, start, stop) of every stretch that is sent to the disk."""
    stretches: Sent = []
    begin = writeback._begin

    def noted(path: Path, start: int, stop: int) -> None:
        stretches.append((path.name, start, stop))
        begin(path, start, stop)

    monkeypatch.setattr(writeback, "_begin", noted)
    return stretches


def test_stretches_follow_each_other_from_where_the_file_went_on(
    tmp_path: Path, sent: Sent
) -> None:
    path = tmp_path / "layer_00.bin"
    path.write_bytes(bytes(range(256)) * 40)
    file = Writeback(path, 5)
    for at in (5 + STRETCH_BYTES - 1, 5 + STRETCH_BYTES, 6 + STRETCH_BYTES, 7 + 2 * STRETCH_BYTES):
        file.reached(at)
    first = 5 + STRETCH_BYTES
    assert sent == [(path.name, 5, first), (path.name, first, 7 + 2 * STRETCH_BYTES)]
    assert path.read_bytes() == bytes(range(256)) * 40


def test_a_volume_that_takes_no_advice_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "not here")

    path = tmp_path / "layer_00.bin"
    path.touch()
    monkeypatch.setattr(os, "posix_fadvise", refuse)
    Writeback(path, 0).reached(STRETCH_BYTES)
    Writeback(tmp_path / "gone", 0).reached(STRETCH_BYTES)


def test_an_installation_sends_its_large_files_while_they_come(
    hub: FakeHub,
    container: Path,
    installer: Installer,
    sent: Sent,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writeback, "STRETCH_BYTES", 1)
    hub.add(MODEL, container)
    assert isinstance(installer.run(MODEL), Done)
    assert files_of(installer.target) == files_of(container)
    large = ["model.safetensors", *(path.name for path in container.glob("packed_experts/*.bin"))]
    for path in (path for path in container.rglob("*") if path.name in large):
        stretches = [(start, stop) for name, start, stop in sent if name == path.name]
        ends = [0, *(stop for _, stop in stretches)]
        assert [start for start, _ in stretches] == ends[:-1]
        assert ends[-1] == path.stat().st_size
