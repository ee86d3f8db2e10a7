"""Fixtures: a hub on loopback, and installations in this process or in one of their own."""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.container.container import JOURNAL
from engine.install.install import run
from engine.install.patience import Patience
from engine.install.protocol import Event, Outcome, Start
from engine.install.stop import Stop
from tests.engine.conftest import TinyModels
from tests.engine.fake_hub import FakeHub

QUICK = Patience(tries=4, first_s=0.01, most_s=0.02, stall_s=30.0, progress_bytes=1)
HASTY = replace(QUICK, stall_s=0.5)  # where a stall is what it is about
MODEL = "acme/Tiny-qpack"
CHECKPOINT = "acme/Tiny-MLX"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A hub; installations of this process ask it and no other."""
    with FakeHub() as hub:
        monkeypatch.setattr("engine.container.hub.hub_endpoint", lambda: hub.endpoint)
        yield hub


@pytest.fixture(scope="session")
def container(tiny_models: TinyModels) -> Path:
    """A container with hashes."""
    return tiny_models.container("qwen3_next", bits=4)


@pytest.fixture(scope="session")
def checkpoint(tiny_models: TinyModels) -> Path:
    """An MLX checkpoint of three shards, with a wrapper's prefix."""
    return tiny_models.checkpoint("qwen3_5_moe", bits=4, shards=3)


class Installer:
    """Runs installations into one folder and keeps what they said."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.events: list[Event] = []

    def run(self, source: str, *, stop: Stop | None = None, **how: object) -> Outcome:
        """To its end."""
        how = {"anyway": True, "patience": QUICK} | how
        start = Start(source, str(self.target), **how)  # type: ignore[arg-type]
        return run(start, self.events.append, stop or Stop())

    def heard(self, kind: type) -> list[Event]:
        """All events of a kind."""
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def quick_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, where there is such a thing: every file is forced to the disk."""
    memory = Path("/dev/shm")
    if not memory.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory, prefix="martlet-test-") as folder:
        yield Path(folder)


@pytest.fixture
def installer(quick_disk: Path) -> Installer:
    """Into a folder that is not there yet."""
    return Installer(quick_disk / "models" / "tiny.qpack")


def files_of(folder: Path) -> dict[str, bytes]:
    """All files that belong to a model, by name."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".install-")
    }


def arrived(folder: Path, published: Path) -> set[str]:
    """Names of the source's files that an installation has got whole, and will not fetch again."""
    journal = json.loads((folder / JOURNAL).read_text())
    shards = journal.get("done", {}).items()
    whole = {name for name, at in shards if at == (published / name).stat().st_size}
    return whole | set(journal.get("verified", {}))
