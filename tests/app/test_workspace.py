"""What a workspace leaves when it is closed."""

from pathlib import Path

from PySide6.QtCore import QObject

from app.keychain import Keychain
from app.workspace import Workspace
from tests.app.test_keychain import FakeVault


def test_what_was_to_be_deleted_is_gone(tmp_path: Path, qapp: object) -> None:
    """Else the last reference to its owner may go within its own destructor: a crash."""
    workspace = Workspace(tmp_path, keychain=Keychain(FakeVault()))
    gone: list[str] = []
    for owner in (workspace.downloads, workspace.hub, workspace):
        child = QObject(owner)
        child.destroyed.connect(lambda _=None: gone.append("child"))
        child.deleteLater()
    workspace.close()
    assert len(gone) == 3
