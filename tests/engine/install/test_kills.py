"""Kills at random moments: it always ends whole, and fetches nothing checked again."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.container.container import JOURNAL
from tests.engine.fake_hub import FakeHub
from tests.engine.install.conftest import CHECKPOINT, MODEL, Installer
from tests.engine.install.kills import Mortal, kill_often

KILLS = 8  # of each kind of source; `python -m tests.bench kills` does a hundred


@pytest.fixture
def mortal(hub: FakeHub) -> Iterator[Mortal]:
    with Mortal(hub) as mortal:
        yield mortal


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
    kill_often(hub, mortal, source, quick_disk, KILLS)


def test_a_kill_while_a_shard_comes_keeps_the_checked_ones(
    hub: FakeHub, checkpoint: Path, mortal: Mortal, installer: Installer
) -> None:
    hub.add(CHECKPOINT, checkpoint)
    fault = hub.fail("model-00003", "status", status=503, times=10**6, least=50_000)
    said = mortal.install(CHECKPOINT, installer.target)
    assert said.startswith("ended Failed")
    done = json.loads((installer.target / JOURNAL).read_text())["done"]
    fault.times = 0
    hub.requests.clear()
    assert mortal.install(CHECKPOINT, installer.target).startswith("ended Done")
    again = {r.path for r in hub.requests if r.span >= 50_000}
    whole = {name for name in done if done[name] == (checkpoint / name).stat().st_size}
    assert not again & whole
