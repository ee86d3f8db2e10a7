"""Follow: another process installs the same model already; tell how far it is, to its end."""

from collections.abc import Callable
from pathlib import Path

from engine.container.container import JOURNAL, MANIFEST
from engine.container.files import names_in
from engine.container.removal import disk_bytes
from engine.errors import Cancelled
from engine.install.claim import holder, said
from engine.install.protocol import Discarded, Done, Event, Joined, Outcome, Paused, Progress
from engine.install.stop import Stop
from engine.records import BadRecord, from_json

LOOK_S = 0.5


def follow(folder: Path, pid: int, hear: Callable[[Event], None], stop: Stop) -> Outcome:
    """Watch until the other lets go. A stop ends the watching, not the other."""
    hear(Joined(pid))
    try:
        while holder(folder) is not None:
            if progress := _progress(folder):
                hear(progress)
            stop.sleep(LOOK_S)
    except Cancelled:
        return Paused("asked", f"Process {pid} goes on with this model.", "")
    if not folder.is_dir():
        return Discarded(0)
    names = names_in(folder)
    if MANIFEST in names and JOURNAL not in names:
        return Done(str(folder), disk_bytes(folder))
    return Paused("other", "The process that installed this model stopped.", "Start it again.")


def _progress(folder: Path) -> Progress | None:
    try:
        return from_json(Progress, said(folder).get("progress"))
    except BadRecord:
        return None  # it has not begun, or is just writing
