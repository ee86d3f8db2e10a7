"""Kills at random moments: it always ends whole, and fetches nothing checked again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.fake_hub import FakeHub
from tests.engine.install.conftest import CHECKPOINT, MODEL, Installer, arrived
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
    whole = arrived(installer.target, checkpoint)
    fault.times = 0
    hub.requests.clear()
    assert mortal.install(CHECKPOINT, installer.target).startswith("ended Done")
    assert not {r.path for r in hub.requests if r.span >= 50_000} & whole


@pytest.mark.slow
@pytest.mark.parametrize("source", [MODEL, CHECKPOINT])
@pytest.mark.parametrize("place", ["beside", "elsewhere"])
def test_kills_while_it_moves_cost_nothing_that_has_arrived(
    hub: FakeHub,
    container: Path,
    checkpoint: Path,
    mortal: Mortal,
    quick_disk: Path,
    tmp_path: Path,
    source: str,
    place: str,
) -> None:
    """Elsewhere is another disk where the fast one is memory."""
    published = container if source == MODEL else checkpoint
    hub.add(source, published)
    began, target = quick_disk / "began", (quick_disk if place == "beside" else tmp_path) / "target"
    fault = hub.fail("_03" if source == MODEL else "00003", "status", status=503, times=10**6)
    fault.host, fault.least = "storage", 50_000
    assert mortal.install(source, began).startswith("ended Failed")
    whole = arrived(began, published)
    fault.times = 0
    hub.requests.clear()
    for die_at in range(20, 400, 30):
        said = mortal.install(source, target, die_at, earlier=began)
        if said != "killed":
            break
    assert said.startswith("ended Done")
    assert not began.exists()
    assert not {r.path for r in hub.requests if r.span >= 50_000} & whole
