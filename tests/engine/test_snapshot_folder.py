"""Snapshot files by their names: what is found, what is thrown away, what is forgotten."""

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from engine import snapshot_folder
from engine.snapshot_folder import beginnings, file_name, forget, shelved, tidy

MODEL, OTHER = "0" * 16, "1" * 16
NOW = 1_000_000.0


def lay(
    folder: Path,
    ids: bytes,
    conversation: str = "",
    model: str = MODEL,
    size: int = 10,
    age: int = 0,
) -> Path:
    """A file of that name, last used `age` seconds before NOW."""
    path = folder / file_name(conversation, model, ids)
    path.write_bytes(bytes(size))
    os.utime(path, (NOW - age, NOW - age))
    return path


def tokens(*ids: int) -> bytes:
    return b"".join(i.to_bytes(4, "little") for i in ids)


def test_only_true_beginnings_of_the_same_model_are_found(tmp_path: Path) -> None:
    short = lay(tmp_path, tokens(1, 2))
    long = lay(tmp_path, tokens(1, 2, 3), "a")
    lay(tmp_path, tokens(1, 9))
    lay(tmp_path, tokens(1, 2, 3, 4), model=OTHER)
    asked = tokens(1, 2, 3, 4, 5)
    found = beginnings(shelved(tmp_path), MODEL, asked)
    assert [file.path for file in found] == [short, long]
    assert beginnings(shelved(tmp_path), MODEL, tokens(1)) == []


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=5), max_size=8), st.data())
def test_beginnings_are_what_startswith_says(kept: list[list[int]], data: st.DataObject) -> None:
    asked = data.draw(st.lists(st.integers(0, 2), max_size=6))
    files = [
        snapshot_folder.Shelved(
            Path(str(i)), "any", MODEL, len(ids), snapshot_folder.prefix_of(tokens(*ids)), 1, 0.0
        )
        for i, ids in enumerate(kept)
    ]
    found = beginnings(files, MODEL, tokens(*asked))
    expected = [ids for ids in kept if asked[: len(ids)] == ids]
    assert [file.length for file in found] == sorted(map(len, expected))


def test_the_longest_unused_leave_when_room_is_short(tmp_path: Path) -> None:
    old, middle, new = (lay(tmp_path, tokens(i), age=age) for i, age in enumerate((30, 20, 10)))
    tidy(tmp_path, 25, NOW)
    assert (old.exists(), middle.exists(), new.exists()) == (False, True, True)


def test_what_nobody_used_for_long_goes(tmp_path: Path) -> None:
    stale = lay(tmp_path, tokens(1), age=snapshot_folder.KEPT_S + 1)
    fresh = lay(tmp_path, tokens(2), age=snapshot_folder.KEPT_S - 1)
    tidy(tmp_path, 10**9, NOW)
    assert not stale.exists()
    assert fresh.exists()


def test_one_conversation_does_not_take_all_the_room(tmp_path: Path) -> None:
    for i in range(snapshot_folder.PER_CONVERSATION + 3):
        lay(tmp_path, tokens(i), "a", age=i)
        lay(tmp_path, tokens(i), age=i)
    tidy(tmp_path, 10**9, NOW)
    mine = [file for file in shelved(tmp_path) if file.conversation != snapshot_folder.NOBODY]
    assert len(mine) == snapshot_folder.PER_CONVERSATION
    assert min(file.used_at for file in mine) == NOW - snapshot_folder.PER_CONVERSATION + 1
    assert len(shelved(tmp_path)) == 2 * snapshot_folder.PER_CONVERSATION + 3


def test_what_a_killed_writer_left_goes_and_what_is_being_written_stays(tmp_path: Path) -> None:
    left, written = tmp_path / ".a.1.safetensors", tmp_path / ".b.2.safetensors"
    for path, age in ((left, snapshot_folder.ABANDONED_S + 1), (written, 1)):
        path.write_bytes(b"half")
        os.utime(path, (NOW - age, NOW - age))
    tidy(tmp_path, 10**9, NOW)
    assert not left.exists()
    assert written.exists()


def test_a_forgotten_conversation_is_gone_and_others_are_not(tmp_path: Path) -> None:
    gone = [lay(tmp_path, tokens(i), "a") for i in range(3)]
    kept = lay(tmp_path, tokens(7), "b")
    nobodys = lay(tmp_path, tokens(8))
    forget(tmp_path, ["a", "c"])
    assert not any(path.exists() for path in gone)
    assert kept.exists()
    assert nobodys.exists()


def test_names_tell_nothing_of_the_conversation(tmp_path: Path) -> None:
    assert "holiday" not in file_name("holiday plans", MODEL, tokens(1, 2))


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    stranger = tmp_path / "notes.safetensors"
    stranger.write_bytes(b"x")
    tidy(tmp_path, 0, NOW)
    assert stranger.exists()
    assert shelved(tmp_path) == []
    tidy(tmp_path / "missing", 0, NOW)
    forget(tmp_path / "missing", ["a"])
