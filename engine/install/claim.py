"""Claim: the right to write into a folder, held by one process at a time, and who holds it.

The lock is the system's, so that it ends with its holder, even by kill -9. What the file says,
its holder's pid and progress, is for others to show.
"""

import contextlib
import fcntl
import json
import logging
import os
import time
from pathlib import Path
from typing import Any, Self

from engine.container.container import SIDECAR
from engine.container.durable import disk_faults

LOCK = f"{SIDECAR}lock"
_ATTEMPTS = 5  # somebody who only looks holds the lock for a moment
_MOST_BYTES = 4096

log = logging.getLogger(__name__)


class Taken(Exception):
    """Another process holds the claim."""

    def __init__(self, pid: int) -> None:
        super().__init__(pid)
        self.pid = pid


class Claim:
    """Hold `folder`, made where it is missing; a context manager. Raises Taken."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._fd = -1

    def __enter__(self) -> Self:
        with disk_faults(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            for _ in range(_ATTEMPTS):
                if self._take():
                    self.tell({})
                    return self
                time.sleep(0.02)
        raise Taken(said(self.folder).get("pid", 0))

    def __exit__(self, *exception: object) -> None:
        """Let go; a folder in which nothing else stands goes too."""
        (self.folder / LOCK).unlink(missing_ok=True)
        os.close(self._fd)
        with contextlib.suppress(OSError):  # it is not empty, or its disk is gone
            self.folder.rmdir()

    def tell(self, progress: dict[str, Any]) -> None:
        """Let others know. A full disk is no reason to fail."""
        data = json.dumps({"pid": os.getpid(), "progress": progress}).encode()
        try:
            os.pwrite(self._fd, data.ljust(_MOST_BYTES), 0)
        except OSError as error:
            log.info("%s: the lock does not say how far we are: %s", self.folder, error)

    def _take(self) -> bool:
        """Lock the file that has the name now: a holder that ended may have removed the last."""
        fd = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        if _lock(fd, fcntl.LOCK_EX) and _is_named(fd, self.folder / LOCK):
            self._fd = fd
            return True
        os.close(fd)
        return False


def holder(folder: Path) -> int | None:
    """The pid of the process that holds `folder`; None where nobody does."""
    try:
        fd = os.open(folder / LOCK, os.O_RDWR)
    except OSError:
        return None
    try:
        return None if _lock(fd, fcntl.LOCK_SH) else said(folder).get("pid", 0)
    finally:
        os.close(fd)


def said(folder: Path) -> dict[str, Any]:
    """What the holder wrote last: "pid" and "progress"; empty where that cannot be read."""
    try:
        found = json.loads((folder / LOCK).read_bytes()[:_MOST_BYTES])
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and type(found.get("pid")) is int else {}


def _lock(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        log.info("this volume has no locks: %s", error)  # some network volumes
    return True


def _is_named(fd: int, path: Path) -> bool:
    try:
        named = os.stat(path)
    except FileNotFoundError:
        return False
    return os.path.samestat(named, os.fstat(fd))
