"""Snapshots in files: found by their beginning, bounded, whole or gone, and beyond a process."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

import engine
from engine import snapshot_folder, snapshot_shelf
from engine.container.library import built_in_model
from engine.events import Finished
from engine.model.state import Snapshot
from engine.options import GenerationOptions
from engine.prefix_cache import PrefixCache
from engine.session import ChatSession
from engine.snapshot_shelf import SnapshotShelf, open_shelf
from tests.engine.conftest import TinyModels

IDS = [5, 6, 7, 8, 9]
GREEDY = GenerationOptions(temperature=0, max_tokens=12)

# A program of its own: answers what follows ids, or messages; with a shelf; and leaves.
PROGRAM = """
import json, sys
from pathlib import Path
import mlx.core as mx
mx.set_default_device(mx.cpu)
import engine
from engine.options import GenerationOptions
from engine.session import ChatSession
from engine.snapshot_shelf import open_shelf
model = engine.load_model(Path(sys.argv[1]), slots=16)
session = ChatSession(model, shelf=open_shelf(model, Path(sys.argv[2])))
options = GenerationOptions(temperature=0, max_tokens=12)
for prompt in json.loads(sys.argv[3]):
    if isinstance(prompt[0], int):
        *_, end = session.complete(prompt, options, text=False)
    else:
        *_, end = session.stream(prompt, options)
    print(json.dumps([end.tokens, end.stats.cached_tokens]), flush=True)
session.live.shelve()
model.close()
"""


@pytest.fixture(scope="module")
def path(tiny_models: TinyModels) -> Path:
    return tiny_models.container("qwen3_next", bits=4)


@pytest.fixture(scope="module")
def model(path: Path) -> Iterator[engine.Model]:
    model = engine.load_model(path, slots=16)
    yield model
    model.close()


@pytest.fixture
def shelf(model: engine.Model, tmp_path: Path) -> SnapshotShelf:
    return open_shelf(model, tmp_path / "shelf")


def after(model: engine.Model, ids: list[int]) -> Snapshot:
    state = model.new_state()
    model.read(ids, state)
    return state.snapshot()


def files(shelf: SnapshotShelf) -> list[Path]:
    return [file.path for file in snapshot_folder.shelved(shelf.folder)]


def answer(session: ChatSession, ids: list[int], **how: Any) -> Finished:
    *_, finished = session.complete(ids, GREEDY, text=False, **how)
    assert isinstance(finished, Finished)
    return finished


def run_program(path: Path, folder: Path, prompts: list[Any]) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, str(path), str(folder), json.dumps(prompts)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def told(program: subprocess.Popen[str]) -> list[Any]:
    out, _ = program.communicate(timeout=200)
    assert program.returncode == 0
    return [json.loads(line) for line in out.splitlines()]


def test_the_longest_beginning_comes_back_exactly(
    model: engine.Model, shelf: SnapshotShelf
) -> None:
    short, long = after(model, IDS[:3]), after(model, IDS)
    shelf.put(IDS[:3], short)
    shelf.put(IDS, long)
    assert shelf.longest([*IDS, 1]) == 5
    assert shelf.longest(IDS[:4]) == 3
    assert shelf.longest([1, 2]) == 0
    loaded = shelf.load([*IDS, 1])
    assert loaded is not None
    assert loaded.length == 5
    for mine, theirs in zip(loaded.deltas, long.deltas, strict=True):
        assert mx.array_equal(mine.delta, theirs.delta).item()
    assert len(shelf) == 2
    assert shelf.load([9]) is None


def test_what_lies_there_already_is_not_written_again(
    model: engine.Model, shelf: SnapshotShelf
) -> None:
    shelf.put(IDS, after(model, IDS))
    (file,) = files(shelf)
    before = file.stat().st_ino
    shelf.put(IDS, after(model, IDS), "another conversation")
    assert [f.stat().st_ino for f in files(shelf)] == [before]


def test_the_longest_unused_leave_when_the_shelf_is_full(
    model: engine.Model, shelf: SnapshotShelf
) -> None:
    shelf.put(IDS, after(model, IDS))
    os.utime(files(shelf)[0], (1e9, 1e9))
    shelf.budget_bytes = shelf.nbytes * 5 // 2
    for first in (1, 2, 3):
        shelf.put([first, *IDS], after(model, [first, *IDS]))
        os.utime(files(shelf)[-1], (2e9 + first, 2e9 + first))
    assert len(shelf) == 2
    assert shelf.longest(IDS) == 0
    assert shelf.longest([3, *IDS]) == 6


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "of other tokens"])
def test_a_damaged_file_costs_only_itself(
    model: engine.Model, shelf: SnapshotShelf, damage: str
) -> None:
    shelf.put(IDS[:3], after(model, IDS[:3]))
    shelf.put([1, *IDS], after(model, [1, *IDS]))
    shelf.put(IDS, after(model, IDS))
    file = next(f.path for f in snapshot_folder.shelved(shelf.folder) if f.length == 5)
    whole = bytearray(file.read_bytes())
    whole[-100] ^= 1
    damaged = {
        "cut": bytes(whole[:-9]),
        "flipped": bytes(whole),
        "empty": b"",
        "of other tokens": next(
            f.path for f in snapshot_folder.shelved(shelf.folder) if f.length == 6
        ).read_bytes(),
    }
    file.write_bytes(damaged[damage])
    loaded = shelf.load(IDS)
    assert loaded is not None
    assert loaded.length == 3
    assert not file.exists()


def test_a_disk_that_takes_nothing_costs_only_the_snapshot(
    model: engine.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shelf").write_text("a file stands where the folder should be")
    shelf = open_shelf(model, tmp_path / "shelf")
    shelf.put(IDS, after(model, IDS))
    assert len(shelf) == 0
    assert shelf.load(IDS) is None
    monkeypatch.setattr(snapshot_shelf, "LEAST_FREE_BYTES", 2**62)
    full = open_shelf(model, tmp_path / "full")
    full.put(IDS, after(model, IDS))
    assert len(full) == 0


def test_other_models_and_versions_do_not_meet(
    model: engine.Model, shelf: SnapshotShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.put(IDS, after(model, IDS))
    stranger = SnapshotShelf(shelf.folder, "other", model.config, model.kernels.dtype)
    assert stranger.longest(IDS) == 0
    monkeypatch.setattr(snapshot_shelf, "__version__", "9.9")
    assert open_shelf(model, shelf.folder).longest(IDS) == 0
    assert len(shelf) == 1


def test_a_shelf_for_named_conversations_keeps_no_others(
    model: engine.Model, tmp_path: Path
) -> None:
    shelf = open_shelf(model, tmp_path, named_only=True)
    shelf.put(IDS, after(model, IDS))
    assert len(shelf) == 0
    shelf.put(IDS, after(model, IDS), "a")
    assert len(shelf) == 1


def test_the_folder_is_the_owners_alone(model: engine.Model, shelf: SnapshotShelf) -> None:
    shelf.put(IDS, after(model, IDS))
    assert oct(shelf.folder.stat().st_mode)[-3:] == "700"


def test_only_the_ends_of_conversations_are_spilled(
    model: engine.Model, shelf: SnapshotShelf
) -> None:
    cache = PrefixCache(10**9, shelf.put)
    cache.add(IDS[:3], after(model, IDS[:3]))
    cache.add(IDS, after(model, IDS))
    cache.add([1, 2], after(model, [1, 2]))
    cache.spill_old()
    assert len(cache) == 1
    assert cache.longest([1, 2]) is not None
    assert len(shelf) == 1
    assert shelf.longest(IDS) == 5


def test_another_process_goes_on_where_this_one_was(tmp_path: Path) -> None:
    """The next turn, the same turn again and a changed one read only what differs."""
    demo = engine.load_model(built_in_model(), slots=16)
    session = ChatSession(demo, shelf=open_shelf(demo, tmp_path))
    asked = [{"role": "user", "content": "Hello. What is a lighthouse, and who lives in one?"}]
    *_, first = session.stream(asked, GREEDY)
    assert isinstance(first, Finished)
    session.live.shelve()
    turns = [*asked, {"role": "assistant", "content": first.text}]
    prompts = [
        [*turns, {"role": "user", "content": "Is it tall?"}],
        asked,
        [*turns, {"role": "user", "content": "Where do they stand?"}],
    ]
    fresh = []
    for prompt in prompts:
        *_, end = ChatSession(demo).stream(prompt, GREEDY)
        assert isinstance(end, Finished)
        fresh.append(end)
    demo.close()
    answers = told(run_program(built_in_model(), tmp_path, prompts))
    assert [tuple(tokens) for tokens, _ in answers] == [end.tokens for end in fresh]
    new = [
        end.stats.prompt_tokens - cached for end, (_, cached) in zip(fresh, answers, strict=True)
    ]
    assert new[0] < 16  # the question and the marks around it
    assert new[1] < 8  # the marks that open the answer
    assert new[2] < 18
    assert all(cached >= first.stats.prompt_tokens - 8 for _, cached in answers)


def test_two_processes_share_a_shelf(path: Path, model: engine.Model, tmp_path: Path) -> None:
    prompts = [[first, *range(60)] for first in range(6)]
    programs = [run_program(path, tmp_path, prompts) for _ in range(2)]
    answers = [told(program) for program in programs]
    assert [tokens for tokens, _ in answers[0]] == [tokens for tokens, _ in answers[1]]
    shelf = open_shelf(model, tmp_path)
    assert len(shelf) >= 1
    for ids in prompts:
        length = shelf.longest([*ids, *answers[0][prompts.index(ids)][0]])
        assert length == 0 or shelf.load([*ids, *answers[0][prompts.index(ids)][0]]) is not None


def test_a_kill_in_mid_write_leaves_nothing_that_is_believed(
    path: Path, model: engine.Model, tmp_path: Path
) -> None:
    program = """
import os, signal, sys
import engine.model.snapshot_file as snapshot_file
def killed(path, arrays, metadata):
    with open(path, "wb") as file:
        file.write(b"half of a snapshot")
    os.kill(os.getpid(), signal.SIGKILL)
snapshot_file.mx = type(sys)("mx")
snapshot_file.mx.__dict__.update(__import__("mlx.core").core.__dict__)
snapshot_file.mx.save_safetensors = killed
"""
    command = [sys.executable, "-c", program + PROGRAM, str(path), str(tmp_path), "[[1, 2, 3]]"]
    died = subprocess.run(command, capture_output=True, timeout=200)
    assert died.returncode == -signal.SIGKILL
    shelf = open_shelf(model, tmp_path)
    assert len(shelf) == 0
    (left,) = tmp_path.iterdir()
    os.utime(left, (1e9, 1e9))
    open_shelf(model, tmp_path)
    assert not left.exists()


def test_a_forgotten_conversation_leaves_memory_and_disk(
    model: engine.Model, tmp_path: Path
) -> None:
    prompt, other = list(range(60)), list(range(100, 160))
    session = ChatSession(model, shelf=open_shelf(model, tmp_path))
    said = [*other, *answer(session, other, conversation="b").tokens[:-1]]
    answer(session, prompt, conversation="a")
    session.live.shelve()
    kept = len(snapshot_folder.shelved(tmp_path))
    session.live.forget("a")
    assert len(snapshot_folder.shelved(tmp_path)) < kept
    session.live.shelve()
    assert answer(session, prompt, conversation="a").stats.cached_tokens == 0
    session.live.forget("a")
    assert answer(session, [*said, 5], conversation="b").stats.cached_tokens == len(said)
