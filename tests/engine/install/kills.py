"""Kills at random moments of an installation, for the tests (some) and the bench (a hundred).

A kill comes before one of the calls of the system that a whole run makes, each as likely as any
other; the same seed kills at the same moments.
"""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from engine.container.container import JOURNAL, MANIFEST, open_container
from engine.errors import MartletError
from tests.engine.fake_hub import FakeHub
from tests.engine.install.conftest import files_of


class Mortal:
    """Asks the process that forks installations for one at a time. A context manager."""

    def __init__(self, hub: FakeHub) -> None:
        command = [sys.executable, "-m", "tests.engine.install.mortal", hub.endpoint]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.process.communicate(timeout=60)

    def install(
        self, source: str, target: Path, die_at: int = 0, earlier: Path | None = None
    ) -> str:
        """ "killed", or "ended KIND CALLS"; never killed at 0."""
        assert self.process.stdin
        assert self.process.stdout
        ask = {"source": source, "target": str(target), "die_at": die_at}
        ask["earlier"] = str(earlier or "")
        self.process.stdin.write(json.dumps(ask) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


def kill_often(hub: FakeHub, mortal: Mortal, source: str, folder: Path, kills: int) -> None:
    """Kill installations until so many kills were survived; whatever goes wrong is asserted.

    Each ends byte-equal to one that nobody killed, and fetches nothing again that was checked.
    """
    whole = folder / "whole.qpack"
    kind, calls = mortal.install(source, whole).split()[1:]
    assert kind == "Done"
    assert int(calls) > 100  # the kills are spread over all of a run's work
    expected, done, seed = files_of(whole), 0, 0
    while done < kills:
        rng, target = random.Random(f"{source} {seed}"), folder / f"{seed}.qpack"
        while (said := _once(hub, mortal, source, target, rng.randint(1, int(calls)))) == "killed":
            done += 1
        assert said.startswith("ended Done"), f"seed {seed}: {said}"
        assert files_of(target) == expected, f"seed {seed}"
        assert open_container(target)
        seed += 1


def _once(hub: FakeHub, mortal: Mortal, source: str, target: Path, die_at: int) -> str:
    """One run; what was checked before is not asked for, and what is no model does not open."""
    checked = _checked(target)
    hub.requests.clear()
    said = mortal.install(source, target, die_at)
    assert not {r.path for r in hub.requests if r.host == "storage"} & checked
    if said == "killed" and not (target / MANIFEST).exists():
        assert not _opens(target)
    return said


def _opens(target: Path) -> bool:
    try:
        open_container(target)
    except MartletError:
        return False
    return True


def _checked(target: Path) -> set[str]:
    journal = target / JOURNAL
    record: dict[str, Any] = json.loads(journal.read_text()) if journal.is_file() else {}
    return set(record.get("verified", {}))
