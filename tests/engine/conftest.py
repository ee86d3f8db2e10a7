"""Fixtures of the engine's tests: tiny containers, made once a session."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from engine.container.repack import repack
from tests.engine.peer import Peer
from tests.engine.tiny import Family, make_checkpoint


@pytest.fixture(scope="session", autouse=True)
def _on_the_cpu() -> None:
    mx.set_default_device(mx.cpu)


class TinyModels:
    """Checkpoints and containers by how they were asked for; each is made once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, Path] = {}

    def checkpoint(self, family: Family, **how: Any) -> Path:
        """The MLX checkpoint."""
        return self._once(
            ("checkpoint", family, how), lambda to: make_checkpoint(to, family, **how)
        )

    def container(self, family: Family, **how: Any) -> Path:
        """The container packed from that checkpoint."""
        source = self.checkpoint(family, **how)
        return self._once(("container", family, how), lambda to: repack(source, to).path)

    def _once(self, key: object, make: Callable[[Path], Path]) -> Path:
        name = repr(key)
        if name not in self._made:
            self._made[name] = make(self._folder / str(len(self._made)))
        return self._made[name]


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> TinyModels:
    """Tiny random models of both families."""
    return TinyModels(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Peer]]:
    """Starts engine processes, each with its script; they end with the test."""
    peers: list[Peer] = []

    def start(**content: Any) -> Peer:
        peers.append(Peer(tmp_path / "script.json", content))
        return peers[-1]

    yield start
    for peer in peers:
        with peer.process:  # closes the pipes and waits
            peer.process.kill()
