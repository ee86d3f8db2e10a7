"""Reader threads: what is measured, what is chosen, and when nothing is measured at all."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.experts import thread_probe
from engine.experts.thread_probe import FEW, MANY, places, read_uncached, threads_for
from tests.engine.experts.handmade import Handmade, make_files


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Handmade]:
    monkeypatch.setattr(thread_probe, "LEAST_BYTES", 1)
    monkeypatch.setattr(thread_probe, "_chosen", {})
    return make_files(tmp_path)


def fix_rates(monkeypatch: pytest.MonkeyPatch, few: float, many: float) -> list[int]:
    """Let the disk be that fast; the thread counts that are tried."""
    tried: list[int] = []

    def rate(ahead: object, size: int, threads: int, direct: bool) -> float:
        tried.append(threads)
        return few if threads == FEW else many

    monkeypatch.setattr(thread_probe, "_rate", rate)
    return tried


@pytest.mark.parametrize(
    ("few", "many", "chosen"), [(1.0, 1.05, FEW), (1.0, 1.2, MANY), (1.0, 0.5, FEW), (0, 0, FEW)]
)
def test_many_have_to_win_clearly(
    few: float, many: float, chosen: int, files: Handmade, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = fix_rates(monkeypatch, few, many)
    assert threads_for(files) == chosen
    assert set(tried) == {FEW, MANY}


def test_a_volume_is_measured_once(files: Handmade, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = fix_rates(monkeypatch, 1, 2)
    assert [threads_for(files) for _ in range(3)] == [MANY] * 3
    assert len(tried) == 2 * thread_probe.ROUNDS


def test_direct_reads_are_measured_for_themselves(
    files: Handmade, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rate(ahead: object, size: int, threads: int, direct: bool) -> float:
        return 1 if direct else threads

    monkeypatch.setattr(thread_probe, "_rate", rate)
    chosen = [threads_for(files, direct=direct) for direct in (False, True, False)]
    assert chosen == [MANY, FEW, MANY]


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize(("offset", "size"), [(8192, 4096), (8192, 100), (5, 8192)])
def test_what_is_measured_is_read(files: Handmade, direct: bool, offset: int, size: int) -> None:
    assert read_uncached(files.layer_path(0), offset, size, direct=direct) == size


def test_small_models_and_failing_disks_are_not_waited_for(
    files: Handmade, monkeypatch: pytest.MonkeyPatch
) -> None:
    for layer in range(files.layout.layer_count):
        files.layer_path(layer).unlink()
    assert threads_for(files) == FEW
    monkeypatch.setattr(thread_probe, "LEAST_BYTES", 10**12)
    tried = fix_rates(monkeypatch, 1, 2)
    assert threads_for(files) == FEW
    assert tried == []


def test_a_real_measurement_reads_and_ends(
    files: Handmade, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[Path, int]] = []

    def noted(path: Path, offset: int, size: int, *, direct: bool) -> int:
        read.append((path, offset))
        return read_uncached(path, offset, size, direct=direct)

    monkeypatch.setattr(thread_probe, "read_uncached", noted)
    assert threads_for(files) in (FEW, MANY)
    assert read


def test_every_expert_has_one_place(files: Handmade) -> None:
    found = list(places(files))
    assert len(set(found)) == len(found) == files.layout.layer_count * files.layout.expert_count
    for path, offset in found:
        assert offset + files.layout.payload <= os.path.getsize(path)
