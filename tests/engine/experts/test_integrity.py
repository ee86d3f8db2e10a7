"""A disk that lies: found by checksums made before, or by the first read; named, and survived."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.cli import main
from engine.container.container import Container, open_container
from engine.errors import ReadFailed
from engine.experts.cache import ExpertCache
from engine.experts.integrity import SUMS, CheckedReader, Sums, known_sums, write_sums
from engine.experts.reader import ThreadedReader
from tests.engine.conftest import TinyModels


@pytest.fixture
def container(tmp_path: Path, tiny_models: TinyModels) -> Container:
    source = tiny_models.container("qwen3_next", bits=4)
    return open_container(shutil.copytree(source, tmp_path / "m.qpack"))


@pytest.fixture
def threads() -> Iterator[ThreadedReader]:
    reader = ThreadedReader(2)
    yield reader
    reader.close()


def flip_bit(container: Container, layer: int, expert: int, at: int = 100) -> None:
    path = container.layer_path(layer)
    blobs = bytearray(path.read_bytes())
    blobs[expert * container.layout.stride + at] ^= 4
    path.write_bytes(blobs)


def cache(container: Container, threads: ThreadedReader, sums: Sums, every: int = 1) -> ExpertCache:
    return ExpertCache(container, 4, CheckedReader(threads, sums, every))


def fetch(cache: ExpertCache, layer: int, experts: list[int]) -> None:
    with cache.begin(layer, experts) as fetched:
        fetched.wait()


def test_a_flipped_bit_is_named_and_only_its_expert_is_lost(
    container: Container, threads: ThreadedReader
) -> None:
    write_sums(container)
    flip_bit(container, 2, 7)
    checked = cache(container, threads, known_sums(container))
    fetch(checked, 2, [1, 2])
    with pytest.raises(ReadFailed, match=r"Expert 7 of layer 2 came damaged from .*layer_02\.bin"):
        fetch(checked, 2, [1, 7])
    assert checked.slot_map(2)[7] == -1
    fetch(checked, 2, [1, 2, 3])
    flip_bit(container, 2, 7)
    fetch(checked, 2, [7])


def test_without_checksums_the_first_read_is_believed_and_held_to(
    container: Container, threads: ThreadedReader
) -> None:
    checked = cache(container, threads, known_sums(container))
    fetch(checked, 0, [5])
    flip_bit(container, 0, 5)
    flip_bit(container, 0, 6)
    fetch(checked, 0, [1, 2, 3, 6])
    with pytest.raises(ReadFailed, match="Expert 5 of layer 0"):
        fetch(checked, 0, [5])


def test_a_sample_finds_it_sooner_or_later(container: Container, threads: ThreadedReader) -> None:
    write_sums(container)
    flip_bit(container, 1, 9)
    checked = cache(container, threads, known_sums(container), every=16)

    def look_up_often() -> None:
        for step in range(200):
            fetch(checked, 1, [9, step % 9])
            checked.invalidate()

    with pytest.raises(ReadFailed, match="Expert 9"):
        look_up_often()


def test_checksums_of_other_files_are_not_used(container: Container) -> None:
    write_sums(container)
    assert (known_sums(container) != 0).all()
    flip_bit(container, 1, container.layout.expert_count // 2)
    assert (known_sums(open_container(container.path)) == 0).all()


@pytest.mark.parametrize("damage", ["missing", "cut", "pickled", "other shape"])
def test_a_file_of_checksums_that_is_no_good_is_as_none(container: Container, damage: str) -> None:
    path = write_sums(container)
    if damage == "missing":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-40])
    elif damage == "pickled":
        np.savez(path, identity=np.array([object()]), sums=np.array([object()]))
    else:
        np.savez(path, identity=np.array(container.identity), sums=np.ones((1, 1), np.uint64))
    assert (known_sums(container) == 0).all()


def test_verify_writes_them_for_a_whole_container_only(
    container: Container, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(container.path), "--sums"]) == 0
    assert SUMS in capsys.readouterr().out
    (container.path / SUMS).unlink()
    flip_bit(container, 0, 0)
    assert main(["verify", str(container.path), "--sums"]) == 4
    assert not (container.path / SUMS).exists()


def test_an_answer_is_the_same_with_checks(container: Container) -> None:
    import engine

    answers = []
    for every in (0, 1):
        model = engine.load_model(container.path, slots=4, check_reads=every)
        session = engine.ChatSession(model)
        options = engine.GenerationOptions(temperature=0, max_tokens=8)
        *_, end = session.complete([1, 2, 3], options, text=False)
        answers.append(getattr(end, "tokens", None))
        model.close()
    assert answers[0] == answers[1]
