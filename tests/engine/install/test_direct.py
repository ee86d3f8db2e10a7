"""Containers fetched as they are: whole, equal, and nothing before that a model."""

from pathlib import Path

from engine.install.protocol import Begun, Done
from tests.engine.fake_hub import COMMIT, FakeHub
from tests.engine.install.conftest import MODEL, Installer, files_of


def test_a_container_arrives_byte_for_byte(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    assert isinstance(installer.run(MODEL), Done)
    assert files_of(installer.target) == files_of(container)
    [begun] = installer.heard(Begun)
    assert isinstance(begun, Begun)
    assert (begun.kind, begun.commit, begun.done_bytes) == ("container", COMMIT, 0)
