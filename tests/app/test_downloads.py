"""Downloads: two at a time, paused, cancelled, killed, and still there at the next start."""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.chat_store import ChatStore
from app.download import Download, Freed, Progress, Trouble
from app.downloads import DownloadController
from app.install_process import InstallProcess
from app.keychain import Keychain
from app.settings_store import SettingsStore
from engine.container.catalogue import load_catalogue
from engine.container.container import DENSE
from engine.errors import MartletError
from tests.app.conftest import Heard, WaitFor
from tests.app.fake_installer import ARRIVED
from tests.app.test_keychain import FakeVault

FAKE = Path(__file__).parent / "fake_installer.py"
BEGUN = {
    "type": "Begun",
    "target": "t",
    "source": "s",
    "kind": "container",
    "commit": "c",
    "host": "hub",
    "total_bytes": 1000,
    "done_bytes": 100,
}
MOVED = {
    "type": "Progress",
    "phase": "downloading",
    "done": 400,
    "total": 1000,
    "bytes_per_s": 50.0,
    "seconds_left": 12.0,
}
HELD = [BEGUN, MOVED, "hold"]


def failed(kind: str, page: str = "") -> dict[str, Any]:
    return {"type": "Failed", "kind": kind, "message": "No.", "remedy": "Do it.", "page": page}


def is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


class Life:
    """A controller on a data folder, with the process that plays a script."""

    def __init__(self, data: Path, script: dict[str, Any]) -> None:
        self._path = data / "script.json"
        data.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(script))
        self.store = ChatStore(data)
        self.settings = SettingsStore(data / "settings.json")
        command = [sys.executable, str(FAKE), str(self._path)]
        self.models = data / "models"
        self.keychain = Keychain(FakeVault("hf_secret"))
        self.downloads = DownloadController(
            self.store, self.settings, self.keychain, self.models, command
        )
        self.installed = Heard(self.downloads.installed)
        self.cancelled = Heard(self.downloads.cancelled)
        self._closed = False

    def states(self) -> list[str]:
        return [download.state for download in self.downloads.downloads]

    def one(self, source: str) -> Download:
        return next(d for d in self.downloads.downloads if d.source == source)

    def processes(self) -> list[int]:
        """Ids of the processes, in the order of their downloads."""
        found = self.downloads._processes.values()
        return [process._process.processId() for process in found]

    def moved(self, source: str) -> bool:
        """Whether it is in the middle: its process holds."""
        return any(d.source == source and d.progress.done == 400 for d in self.downloads.downloads)

    def commands(self) -> list[dict[str, Any]]:
        """What the processes heard."""
        log = self._path.with_suffix(".log")
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.downloads.close()
            self.store.close()


@pytest.fixture
def live(tmp_path: Path, qapp: object) -> Iterator[Callable[[dict[str, Any]], Life]]:
    made: list[Life] = []

    def make(script: dict[str, Any]) -> Life:
        made.append(Life(tmp_path / "data", script))
        return made[-1]

    yield make
    for life in made:
        life.close()


Live = Callable[[dict[str, Any]], Life]


def test_a_model_arrives(live: Live, wait_for: WaitFor) -> None:
    life = live({"acme/Tiny-qpack": [[BEGUN, MOVED, "done"]]})
    heard = Heard(life.downloads.changed)
    life.downloads.add("acme/Tiny-qpack", "Tiny", "4-bit")
    wait_for(lambda: life.installed.told)
    assert life.installed.told == [str(life.models / "Tiny.qpack")]
    assert life.downloads.downloads == ()
    shown = [d.progress for told in heard.told for d in told]
    assert Progress("downloading", 400, 1000, 50.0, 12.0) in shown


def test_a_model_that_is_here_is_not_fetched(live: Live, wait_for: WaitFor) -> None:
    life = live({"acme/Tiny": [["done"]]})
    life.downloads.add("acme/Tiny", "Tiny")
    life.downloads.add("acme/Tiny", "Tiny")
    assert len(life.downloads.downloads) == 1
    wait_for(lambda: life.installed.told)


def test_the_token_goes_to_the_process_alone(live: Live, wait_for: WaitFor) -> None:
    life = live({"acme/Tiny": [["done"]]})
    life.downloads.add("acme/Tiny", "Tiny")
    wait_for(lambda: life.installed.told)
    assert life.commands()[0]["token"] == "hf_secret"
    life.close()
    kept = [path for path in life.models.parent.rglob("*") if path.is_file()]
    told = [p for p in kept if b"hf_secret" in p.read_bytes() and p.suffix != ".log"]
    assert told == []


def test_two_at_a_time_then_the_next(live: Live, wait_for: WaitFor) -> None:
    life = live({"a/A": [HELD], "b/B": [HELD], "c/C": [HELD]})
    for source in ("a/A", "b/B", "c/C"):
        life.downloads.add(source, source)
    wait_for(lambda: life.moved("a/A") and life.moved("b/B"))
    assert life.states() == ["running", "running", "queued"]
    assert life.downloads.at_work == 3
    life.downloads.pause(life.one("a/A").id)
    wait_for(lambda: life.moved("c/C"))
    assert life.states() == ["paused", "running", "running"]
    assert life.one("a/A").progress.done == 400


def test_pause_then_resume(live: Live, wait_for: WaitFor) -> None:
    life = live({"a/A": [HELD, [BEGUN, "done"]]})
    life.downloads.add("a/A", "A")
    wait_for(lambda: life.moved("a/A"))
    life.downloads.pause(life.one("a/A").id)
    wait_for(lambda: life.states() == ["paused"])
    life.downloads.resume(life.one("a/A").id)
    wait_for(lambda: life.installed.told)


CANCEL_WITHIN_S = 2.0  # the promise is one, on a machine that does nothing else


def test_cancel_one_of_two(live: Live, wait_for: WaitFor) -> None:
    """Whatever its process is at: this one hears nothing, as one that waits for a dead network."""
    life = live({"a/A": [[BEGUN, MOVED, "deaf"]], "b/B": [HELD]})
    life.downloads.add("a/A", "A")
    life.downloads.add("b/B", "B")
    wait_for(lambda: life.moved("a/A") and life.moved("b/B"))
    process, other = life.processes()
    target = Path(life.one("a/A").target)
    began = time.monotonic()
    life.downloads.cancel(life.one("a/A").id)
    wait_for(lambda: life.cancelled.told)
    took = time.monotonic() - began
    (freed,) = life.cancelled.told
    assert (freed.name, freed.bytes >= ARRIVED) == ("A", True)
    assert not target.exists()
    assert life.states() == ["running"]
    assert not is_alive(process)
    assert is_alive(other)
    assert took < CANCEL_WITHIN_S


def test_what_an_earlier_life_left_is_read_late_and_brings_nothing_back(
    live: Live, wait_for: WaitFor
) -> None:
    life = live({"a/A": [[BEGUN, MOVED, "deaf"]]})
    life.downloads.add("a/A", "A")
    row = life.one("a/A")
    life.downloads.cancel(row.id)
    wait_for(lambda: life.cancelled.told)
    life.downloads._take_up((row,))
    assert life.downloads.downloads == ()
    assert life.processes() == []


def test_cancel_at_the_very_start(live: Live, wait_for: WaitFor) -> None:
    life = live({"a/A": [[BEGUN, MOVED, "deaf"]]})
    life.downloads.add("a/A", "A")
    life.downloads.cancel(life.one("a/A").id)
    life.downloads.cancel(life.one("a/A").id)
    wait_for(lambda: life.cancelled.told)
    assert life.downloads.downloads == ()
    assert life.processes() == []
    assert not (life.models / "A.qpack").exists()


def test_cancel_of_a_paused_one_deletes_it_too(live: Live, wait_for: WaitFor) -> None:
    life = live({"a/A": [HELD]})
    life.downloads.add("a/A", "A")
    wait_for(lambda: life.moved("a/A"))
    life.downloads.pause(life.one("a/A").id)
    wait_for(lambda: life.states() == ["paused"])
    wait_for(lambda: not life.downloads.findChildren(InstallProcess))
    life.downloads.cancel(life.one("a/A").id)
    wait_for(lambda: life.cancelled.told)
    assert life.downloads.downloads == ()
    assert not (life.models / "A.qpack").exists()


def test_cancel_leaves_what_is_not_ours(live: Live, wait_for: WaitFor) -> None:
    life = live({"a/A": [HELD]})
    life.downloads.add("a/A", "A")
    wait_for(lambda: life.moved("a/A"))
    notes = Path(life.one("a/A").target) / "my-notes.txt"
    notes.write_text("mine")
    life.downloads.cancel(life.one("a/A").id)
    wait_for(lambda: life.cancelled.told)
    assert [path.name for path in notes.parent.iterdir()] == ["my-notes.txt"]


def test_cancel_of_what_never_began_starts_nothing(live: Live, wait_for: WaitFor) -> None:
    life = live({"a/A": [HELD], "b/B": [HELD], "c/C": [HELD]})
    for source in ("a/A", "b/B", "c/C"):
        life.downloads.add(source, source)
    life.downloads.cancel(life.one("c/C").id)
    wait_for(lambda: life.cancelled.told)
    assert life.cancelled.told == [Freed("c/C", 0)]
    wait_for(lambda: life.moved("a/A") and life.moved("b/B"))
    assert not any(command.get("source") == "c/C" for command in life.commands())


def test_cancel_of_a_repair_that_has_not_begun_leaves_the_model(
    live: Live, wait_for: WaitFor
) -> None:
    life = live({"a/A": [["done"]]})
    life.downloads.add("a/A", "A")
    wait_for(lambda: life.installed.told)
    (path,) = life.installed.told
    life.downloads.repair(path, "a/A", "A")
    life.downloads.cancel(life.one("a/A").id)
    wait_for(lambda: life.cancelled.told)
    assert life.cancelled.told == [Freed("A", 0)]
    assert (Path(path) / DENSE).stat().st_size == ARRIVED


def test_what_cannot_be_deleted_is_said(
    live: Live, wait_for: WaitFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: Path, source: str) -> int:
        raise MartletError("The disk is locked.", "Unlock it.")

    life = live({"a/A": [HELD]})
    life.downloads.add("a/A", "A")
    wait_for(lambda: life.moved("a/A"))
    monkeypatch.setattr("app.downloads.discard", refuse)
    life.downloads.cancel(life.one("a/A").id)
    wait_for(lambda: life.states() == ["failed"])
    assert life.one("a/A").trouble == Trouble("The disk is locked.", "Unlock it.")


def test_a_process_that_dies_loses_nothing(live: Live, wait_for: WaitFor) -> None:
    life = live({"a/A": [[BEGUN, MOVED, "die"], ["done"]]})
    life.downloads.add("a/A", "A")
    wait_for(lambda: life.states() == ["failed"])
    trouble = life.one("a/A").trouble
    assert trouble is not None
    assert "is kept" in trouble.message
    assert trouble.help == "retry"
    life.downloads.resume(life.one("a/A").id)
    wait_for(lambda: life.installed.told)


@pytest.mark.parametrize(
    ("kind", "help"),
    [
        ("TokenNeeded", "token"),
        ("LicenceNotAccepted", "page"),
        ("AccessRefused", "token"),
        ("DownloadFailed", "retry"),
    ],
)
def test_every_refusal_has_its_button(live: Live, wait_for: WaitFor, kind: str, help: str) -> None:
    life = live({"a/A": [[failed(kind, "https://hub/a/A")]]})
    life.downloads.add("a/A", "A")
    wait_for(lambda: life.states() == ["failed"])
    trouble = life.one("a/A").trouble
    assert trouble is not None
    assert (trouble.message, trouble.help, trouble.page) == ("No.", help, "https://hub/a/A")


def paused(reason: str, wanted_free_bytes: int = 0) -> dict[str, Any]:
    said = {"type": "Paused", "reason": reason, "message": "Full.", "remedy": "", "volume": "T7"}
    return said | {"wanted_free_bytes": wanted_free_bytes}


FULL = paused("disk", 10**18)


def test_a_full_disk_can_be_overruled(live: Live, wait_for: WaitFor) -> None:
    life = live({"a/A": [[BEGUN, FULL], ["done"]]})
    life.downloads.add("a/A", "A")
    wait_for(lambda: life.states() == ["failed"])
    trouble = life.one("a/A").trouble
    assert trouble is not None
    assert (trouble.help, trouble.wanted_free_bytes) == ("room", 10**18)
    life.downloads.resume(life.one("a/A").id, anyway=True)
    wait_for(lambda: life.installed.told)
    assert [c["anyway"] for c in life.commands() if "anyway" in c] == [False, True]


def test_a_stall_says_what_it_waits_for_until_bytes_come(live: Live, wait_for: WaitFor) -> None:
    waiting = {"type": "Waiting", "message": "No answer.", "seconds": 4, "failures": 2, "tries": 10}
    stalled = MOVED | {"bytes_per_s": 0.0, "seconds_left": None}
    moved = MOVED | {"done": 500}
    life = live(
        {"a/A": [[BEGUN, stalled, waiting, stalled, "hold"], [BEGUN, waiting, moved, "hold"]]}
    )
    life.downloads.add("a/A", "A")
    wait_for(lambda: life.one("a/A").note)
    life.downloads.pause(life.one("a/A").id)
    heard = Heard(life.downloads.changed)
    wait_for(lambda: life.states() == ["paused"])
    notes = {d.note for told in heard.told for d in told if d.state == "pausing"}
    assert notes <= {"No answer. Trying again in 4 s."}  # another figure does not end it
    life.downloads.resume(life.one("a/A").id)
    wait_for(lambda: life.one("a/A").progress.done == 500)
    assert life.one("a/A").note == ""


def test_the_queue_outlives_the_application(live: Live, wait_for: WaitFor) -> None:
    script = {"a/A": [HELD, ["done"]], "b/B": [HELD, ["hold"]], "c/C": [[failed("TokenNeeded")]]}
    life = live(script)
    life.downloads.add("c/C", "C")
    wait_for(lambda: life.states() == ["failed"])
    life.downloads.add("a/A", "A", "4-bit")
    life.downloads.add("b/B", "B")
    wait_for(lambda: life.moved("a/A") and life.moved("b/B"))
    life.downloads.pause(life.one("b/B").id)
    wait_for(lambda: life.one("b/B").state == "paused")
    life.close()

    after = live(script)
    wait_for(lambda: after.installed.told)
    assert after.installed.told == [str(life.models / "A.qpack")]
    left = {d.source: d.state for d in after.downloads.downloads}
    assert left == {"c/C": "failed", "b/B": "paused"}
    trouble = after.one("c/C").trouble
    assert trouble is not None
    assert trouble.help == "token"


def test_a_cancel_goes_on_after_a_kill(live: Live, wait_for: WaitFor) -> None:
    life = live({"a/A": [HELD]})
    life.downloads.add("a/A", "A")
    wait_for(lambda: life.moved("a/A"))
    life.downloads.cancel(life.one("a/A").id)
    assert life.states() == ["cancelling"]
    life.close()
    assert Path(life.models / "A.qpack").exists()
    after = live({})
    wait_for(lambda: after.cancelled.told)
    assert not Path(after.models / "A.qpack").exists()


def test_closing_leaves_no_process(live: Live, wait_for: WaitFor) -> None:
    life = live({"a/A": [HELD], "b/B": [[BEGUN, MOVED, "deaf"]]})
    life.downloads.add("a/A", "A")
    life.downloads.add("b/B", "B")
    wait_for(lambda: life.moved("a/A") and life.moved("b/B"))
    life.close()
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_repair_checks_the_model_where_it_is(live: Live, wait_for: WaitFor) -> None:
    life = live({"a/A": [["done"]]})
    path = life.models / "Old.qpack"
    life.downloads.repair(str(path), "a/A", "Old")
    wait_for(lambda: life.installed.told)
    (start,) = life.commands()
    assert (start["target"], start["repair"]) == (str(path), True)


def test_what_an_earlier_download_left_goes_on_where_it_is(live: Live, wait_for: WaitFor) -> None:
    life = live({"a/A": [["done"]]})
    path = life.models.parent / "elsewhere" / "Half.qpack"
    life.downloads.go_on(str(path), "a/A", "Half")
    life.downloads.go_on(str(path), "a/A", "Half")
    wait_for(lambda: life.installed.told)
    (start,) = life.commands()
    assert (start["target"], start["repair"]) == (str(path), False)


def test_a_full_disk_is_watched_until_there_is_room(
    live: Live, wait_for: WaitFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = {"bytes": 10}
    monkeypatch.setattr("app.room_watch.has_room", lambda held: held.free_bytes <= free["bytes"])
    life = live({"a/A": [[BEGUN, paused("disk", 1000)], ["done"]]})
    life.downloads.add("a/A", "A")
    wait_for(lambda: life.states() == ["failed"])
    wait_for(lambda: life.downloads._watch._lacking)
    free["bytes"] = 1000
    life.downloads._watch._look()
    wait_for(lambda: life.installed.told)


def test_a_disk_that_comes_back_lets_its_downloads_go_on(live: Live, wait_for: WaitFor) -> None:
    life = live({"a/A": [[BEGUN, paused("volume")], ["done"]]})
    life.models.mkdir(parents=True)
    life.downloads.add("a/A", "A")
    wait_for(lambda: life.states() == ["failed"])
    away = life.models.rename(life.models.with_name("away"))
    wait_for(lambda: life.downloads._watch._task is None)
    life.downloads._watch._look()
    wait_for(lambda: life.downloads._watch._lacking)
    away.rename(life.models)
    wait_for(lambda: life.downloads._watch._task is None)
    life.downloads._watch._look()
    wait_for(lambda: life.installed.told)


def test_what_a_person_paused_stays_paused(live: Live, wait_for: WaitFor) -> None:
    life = live({"a/A": [[BEGUN, FULL]]})
    life.downloads.add("a/A", "A")
    wait_for(lambda: life.states() == ["failed"])
    life.downloads.pause(life.one("a/A").id)
    assert life.states() == ["paused"]
    assert life.downloads._watch._held == ()


def test_what_was_asked_for_before_the_queue_was_read_is_no_earlier_life(
    live: Live, wait_for: WaitFor
) -> None:
    life = live({"a/A": [[BEGUN, paused("disk", 1000)]]})
    life.downloads.add("a/A", "A")
    wait_for(lambda: life.states() == ["failed"])
    life.downloads._take_up(life.downloads.downloads)
    assert life.downloads._watch._lacking == set()


def test_room_that_was_made_between_two_lives_is_seen(live: Live, wait_for: WaitFor) -> None:
    life = live({"a/A": [[BEGUN, paused("disk", 1000)], ["done"]]})
    life.downloads.add("a/A", "A")
    wait_for(lambda: life.states() == ["failed"])
    life.close()
    after = live({"a/A": [[], ["done"]]})
    wait_for(lambda: after.installed.told)


def test_it_goes_on_in_another_folder(live: Live, wait_for: WaitFor, tmp_path: Path) -> None:
    life = live({"a/A": [[BEGUN, FULL], HELD, ["done"]]})
    life.downloads.add("a/A", "A")
    wait_for(lambda: life.states() == ["failed"])
    began = life.one("a/A").target
    other = tmp_path / "Samsung T7" / "models"
    life.downloads.move(life.one("a/A").id, other)
    wait_for(lambda: life.moved("a/A"))
    assert life.one("a/A").target == str(other / "A.qpack")
    assert life.settings.settings.model_folders == (str(other),)
    life.close()
    after = live({"a/A": [[], [], ["done"]]})
    wait_for(lambda: after.installed.told)
    starts = [c for c in after.commands() if "target" in c]
    assert [c["earlier"] for c in starts] == ["", began, ""]
    assert after.installed.told == [str(other / "A.qpack")]


def test_another_folder_for_what_has_not_begun_moves_nothing(
    live: Live, wait_for: WaitFor, tmp_path: Path
) -> None:
    life = live({"a/A": [[FULL], ["done"]]})
    life.downloads.add("a/A", "A")
    wait_for(lambda: life.states() == ["failed"])
    shutil.rmtree(life.one("a/A").target)
    life.downloads.move(life.one("a/A").id, tmp_path / "other")
    wait_for(lambda: life.installed.told)
    assert [c["earlier"] for c in life.commands() if "target" in c] == ["", ""]


def test_mirrors_are_the_catalogues(live: Live, wait_for: WaitFor) -> None:
    entry = next(entry for entry in load_catalogue().models if entry.mirrors)
    life = live({entry.source: [["done"]]})
    life.downloads.add(entry.source, entry.name)
    wait_for(lambda: life.installed.told)
    assert life.commands()[0]["mirrors"] == list(entry.mirrors)
