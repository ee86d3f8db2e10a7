"""A hundred kills at random moments: it always ends whole, and fetches nothing checked again."""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.container.container import JOURNAL, MANIFEST, open_container
from engine.errors import MartletError
from tests.engine.fake_hub import FakeHub
from tests.engine.install.conftest import CHECKPOINT, MODEL, Installer, files_of

KILLS = 50  # of each kind of source


class Mortal:
    """Asks the process that forks installations for one at a time."""

    def __init__(self, hub: FakeHub) -> None:
        command = [sys.executable, "-m", "tests.engine.install.mortal", hub.endpoint]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def install(self, source: str, target: Path, die_at: int) -> str:
        assert self.process.stdin
        assert self.process.stdout
        ask = {"source": source, "target": str(target), "die_at": die_at}
        self.process.stdin.write(json.dumps(ask) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


@pytest.fixture
def mortal(hub: FakeHub) -> Iterator[Mortal]:
    mortal = Mortal(hub)
    yield mortal
    mortal.process.communicate(timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize("source", [MODEL, CHECKPOINT])
def test_kills_at_any_moment_cost_nothing_but_time(
    hub: FakeHub,
    container: Path,
    checkpoint: Path,
    mortal: Mortal,
    quick_disk: Path,
    source: str,
) -> None:
    hub.add(source, container if source == MODEL else checkpoint)
    target = quick_disk / "first.qpack"
    kind, calls = mortal.install(source, target, die_at=0).split()[1:]
    assert kind == "Done"
    assert int(calls) > 100  # the kills are spread over all of a run's work
    expected = files_of(target)
    rng = random.Random(source)
    kills = 0
    for number in range(KILLS):
        target = quick_disk / f"{number}.qpack"
        while "killed" in (said := _once(hub, mortal, source, target, rng.randint(1, int(calls)))):
            kills += 1
        assert said.startswith("ended Done")
        assert files_of(target) == expected
        assert open_container(target)
        if kills >= KILLS:
            return


def _once(hub: FakeHub, mortal: Mortal, source: str, target: Path, die_at: int) -> str:
    """One run; what was checked before is not asked for, and what is no model does not open."""
    checked = _checked(target)
    hub.requests.clear()
    said = mortal.install(source, target, die_at)
    asked_again = {r.path for r in hub.requests if r.host == "storage"} & checked
    assert not asked_again
    if said == "killed" and not (target / MANIFEST).exists():
        with pytest.raises(MartletError):
            open_container(target)
    return said


def _checked(target: Path) -> set[str]:
    journal = target / JOURNAL
    record: dict[str, Any] = json.loads(journal.read_text()) if journal.is_file() else {}
    return set(record.get("verified", {}))


def test_a_kill_while_a_shard_comes_keeps_the_checked_ones(
    hub: FakeHub, checkpoint: Path, mortal: Mortal, installer: Installer
) -> None:
    hub.add(CHECKPOINT, checkpoint)
    fault = hub.fail("model-00003", "status", status=503, times=10**6, least=50_000)
    said = mortal.install(CHECKPOINT, installer.target, die_at=0)
    assert said.startswith("ended Failed")
    done = json.loads((installer.target / JOURNAL).read_text())["done"]
    fault.times = 0
    hub.requests.clear()
    assert mortal.install(CHECKPOINT, installer.target, die_at=0).startswith("ended Done")
    again = {r.path for r in hub.requests if r.span >= 50_000}
    whole = {name for name in done if done[name] == (checkpoint / name).stat().st_size}
    assert not again & whole
