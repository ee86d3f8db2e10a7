"""Containers fetched as they are: whole, equal, and nothing before that a model."""

import json
import shutil
from pathlib import Path

import pytest

from engine.container.container import MANIFEST, open_container
from engine.container.verify import verify
from engine.errors import BadContainer
from engine.install.protocol import Begun, Done, Failed, Notice, Waiting
from tests.engine.fake_hub import COMMIT, FakeHub, Kind
from tests.engine.install.conftest import HASTY, MODEL, QUICK, Installer, files_of

LAYER = "packed_experts/layer_01.bin"


def test_a_container_arrives_byte_for_byte(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    assert isinstance(installer.run(MODEL), Done)
    assert files_of(installer.target) == files_of(container)
    [begun] = installer.heard(Begun)
    assert isinstance(begun, Begun)
    assert (begun.kind, begun.commit, begun.done_bytes) == ("container", COMMIT, 0)


def test_a_mirror_does_as_well(hub: FakeHub, container: Path, installer: Installer) -> None:
    address = hub.mirror("tiny", container)
    assert isinstance(installer.run(address, token="hf_secret"), Done)
    assert files_of(installer.target) == files_of(container)
    assert {request.authorization for request in hub.requests} == {None}


def test_a_container_in_a_folder_of_a_repository_is_found(
    hub: FakeHub, container: Path, installer: Installer, tmp_path: Path
) -> None:
    shutil.copytree(container, tmp_path / "repository" / "four-bit.qpack")
    hub.add(MODEL, tmp_path / "repository")
    assert isinstance(installer.run(MODEL), Done)
    assert files_of(installer.target) == files_of(container)


def test_of_several_containers_one_must_be_named(
    hub: FakeHub, container: Path, installer: Installer, tmp_path: Path
) -> None:
    for name in ("a.qpack", "b.qpack"):
        shutil.copytree(container, tmp_path / "repository" / name)
    hub.add(MODEL, tmp_path / "repository")
    outcome = installer.run(MODEL)
    assert isinstance(outcome, Failed)
    assert outcome.remedy == f"Name one of them, like {MODEL}/a.qpack."
    assert isinstance(installer.run(f"{MODEL}/b.qpack"), Done)


def test_a_folder_of_this_machine_is_copied_and_checked(
    container: Path, installer: Installer
) -> None:
    assert isinstance(installer.run(str(container)), Done)
    assert files_of(installer.target) == files_of(container)


def test_what_is_whole_asks_nobody_again(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    installer.run(MODEL)
    hub.requests.clear()
    assert isinstance(installer.run(MODEL), Done)
    assert hub.requests == []


@pytest.mark.parametrize("after", [0, 1, 100_000, 262_143])
def test_a_reset_costs_one_request_and_no_byte_twice(
    hub: FakeHub, container: Path, installer: Installer, after: int
) -> None:
    hub.add(MODEL, container)
    hub.fail(LAYER, "reset", after=after, host="storage")
    assert isinstance(installer.run(MODEL), Done)
    assert files_of(installer.target) == files_of(container)
    starts = [request.start for request in hub.asked(LAYER)]
    assert len(starts) == 2
    assert (starts[0] or 0) == 0
    assert 0 <= (starts[1] or 0) <= after  # what a reset swallows on the way comes again


def test_a_short_answer_goes_on_exactly_where_it_ended(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    for after in (1, 70_000, 70_000):
        hub.fail(LAYER, "short", after=after, host="storage")
    assert isinstance(installer.run(MODEL), Done)
    assert [r.start for r in hub.asked(LAYER)] == [0, 1, 70_001, 140_001]
    assert files_of(installer.target) == files_of(container)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("stall", "has stopped sending"),
        ("wrong size", "offers"),
        ("packed", "packed"),
        ("status", "has trouble (503)"),
    ],
)
def test_a_fault_that_passes_is_sat_out(
    hub: FakeHub, container: Path, installer: Installer, kind: Kind, words: str
) -> None:
    hub.add(MODEL, container)
    hub.fail(LAYER, kind, status=503, times=2, after=1000)
    patience = HASTY if kind == "stall" else QUICK
    assert isinstance(installer.run(MODEL, patience=patience), Done)
    assert files_of(installer.target) == files_of(container)
    waits = [event for event in installer.heard(Waiting) if isinstance(event, Waiting)]
    assert [words in wait.message for wait in waits] == [True, True]


@pytest.mark.parametrize("kind", ["stall", "status", "wrong size", "reset"])
def test_a_fault_that_stays_ends_it_soon_and_keeps_everything(
    hub: FakeHub, container: Path, installer: Installer, kind: Kind
) -> None:
    hub.add(MODEL, container)
    fault = hub.fail(LAYER, kind, status=503, times=10**6)
    outcome = installer.run(MODEL, patience=HASTY if kind == "stall" else QUICK)
    assert isinstance(outcome, Failed)
    assert outcome.kind == "DownloadFailed"
    assert "Nothing is lost" in outcome.remedy
    assert len([r for r in hub.requests if LAYER in r.path]) <= 2 * QUICK.tries
    assert MANIFEST not in files_of(installer.target)
    fault.times = 0
    assert isinstance(installer.run(MODEL), Done)


def test_a_server_that_asks_for_time_gets_it(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    hub.fail(LAYER, "status", status=429, headers={"Retry-After": "1"})
    assert isinstance(installer.run(MODEL), Done)
    [wait] = installer.heard(Waiting)
    assert isinstance(wait, Waiting)
    assert (wait.seconds, "slow down" in wait.message) == (1.0, True)


def test_a_server_that_asks_for_an_hour_ends_it(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    hub.fail(LAYER, "status", status=429, headers={"Retry-After": "3600"})
    assert isinstance(installer.run(MODEL), Failed)


def test_an_answer_from_the_start_is_skipped_to_where_it_matters(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    hub.fail(LAYER, "short", after=100_000, host="storage")
    hub.fail(LAYER, "no ranges", times=5, host="storage")
    assert isinstance(installer.run(MODEL), Done)
    assert files_of(installer.target) == files_of(container)


def test_a_damaged_file_alone_comes_again(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    hub.fail(LAYER, "wrong bytes", host="storage")
    assert isinstance(installer.run(MODEL), Done)
    assert files_of(installer.target) == files_of(container)
    assert len(hub.asked(LAYER)) == 2
    assert len(hub.asked("layer_00")) == 1
    assert installer.heard(Notice) == [
        Notice(f"{LAYER} arrived damaged; it alone is fetched again.")
    ]


def test_a_file_that_is_damaged_at_its_source_is_said_to_be(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    hub.fail(LAYER, "wrong bytes", times=10**6, host="storage")
    outcome = installer.run(MODEL)
    assert isinstance(outcome, Failed)
    assert "arrived damaged 3 times" in outcome.message
    with pytest.raises(BadContainer):
        open_container(installer.target)


def test_a_damaged_small_file_comes_again(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    address = hub.mirror("tiny", container)
    hub.fail("chat_template", "wrong bytes")
    assert isinstance(installer.run(address), Done)
    assert files_of(installer.target) == files_of(container)


def test_a_file_that_ends_too_soon_is_begun_anew(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    hub.fail(LAYER, "short", after=100_000, host="storage")
    hub.fail(LAYER, "status", status=416, host="storage")
    assert isinstance(installer.run(MODEL), Done)
    assert [request.start for request in hub.asked(LAYER)] == [0, 100_000, 0]


def test_a_file_that_the_source_lost_is_named(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    hub.fail(LAYER, "status", status=404, times=10**6)
    outcome = installer.run(MODEL)
    assert isinstance(outcome, Failed)
    assert (outcome.kind, LAYER in outcome.message) == ("BadContainer", True)


def test_an_optional_file_that_fails_is_not_an_absent_one(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    """A tokenizer that is skipped because of a bad minute makes a model that cannot speak."""
    address = hub.mirror("tiny", container)
    hub.fail("generation_config.json", "status", status=503, times=2)
    assert isinstance(installer.run(address), Done)
    assert (installer.target / "generation_config.json").is_file()


def test_a_manifest_that_fails_does_not_turn_a_container_into_something_else(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    hub.fail(MANIFEST, "status", status=429, times=10**6)
    assert isinstance(installer.run(MODEL), Failed)
    assert not installer.target.exists()


def test_without_published_hashes_sizes_count_and_ours_are_kept(
    hub: FakeHub, container: Path, installer: Installer, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(container, bare, ignore=shutil.ignore_patterns("hashes.json"))
    hub.add(MODEL, bare, hashes=False)
    assert isinstance(installer.run(MODEL), Done)
    [notice] = installer.heard(Notice)
    assert isinstance(notice, Notice)
    assert "No hash is published" in notice.message
    report = verify(installer.target)
    assert report.ok
    assert report.hashed_count > 5


def test_a_mirror_that_lists_the_large_files_only_gives_all(
    hub: FakeHub, container: Path, installer: Installer, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(container, bare, ignore=shutil.ignore_patterns("hashes.json"))
    manifest = json.loads((bare / MANIFEST).read_text())
    large = {name: size for name, size in manifest["files"].items() if size > 20_000}
    (bare / MANIFEST).write_text(json.dumps(manifest | {"files": large}))
    assert isinstance(installer.run(hub.mirror("tiny", bare)), Done)
    missing = files_of(bare).keys() - files_of(installer.target).keys()
    assert missing == set()


def test_a_source_that_contradicts_itself_is_refused_before_anything_large(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    repository = hub.add(MODEL, container)
    lie = {"rfilename": LAYER, "size": 1, "lfs": {"sha256": "0" * 64, "size": 1, "pointerSize": 1}}
    repository.listed[LAYER] = lie
    outcome = installer.run(MODEL)
    assert isinstance(outcome, Failed)
    assert (outcome.kind, LAYER in outcome.message) == ("BadContainer", True)
    assert hub.asked(".bin") == []
    assert not installer.target.exists()


def test_a_folder_that_holds_something_else_is_left_alone(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    installer.target.mkdir(parents=True)
    (installer.target / "novel.txt").write_text("It was a dark night")
    outcome = installer.run(MODEL)
    assert isinstance(outcome, Failed)
    assert "novel.txt" in outcome.message
    assert files_of(installer.target) == {"novel.txt": b"It was a dark night"}


def test_another_model_in_the_folder_is_left_alone(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    hub.add("acme/Other", container)
    installer.run(MODEL)
    outcome = installer.run("acme/Other")
    assert isinstance(outcome, Failed)
    assert f"holds a model from {MODEL}" in outcome.message


def test_one_model_may_be_named_in_several_ways(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    hub.fail(LAYER, "status", status=503, times=QUICK.tries)
    assert isinstance(installer.run(f"{hub.endpoint}/{MODEL}"), Failed)
    assert isinstance(installer.run(MODEL), Done)
