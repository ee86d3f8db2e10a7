"""StorageWatch: after a read has failed, when are the model's files there again, and the same?"""

import os
import time
from collections.abc import Callable

from engine.container.container import Container, open_container
from engine.container.files import opened
from engine.errors import MartletError, ReadFailed
from engine.protocol import StorageChanged

LOOK_EVERY_S = 1.0


class StorageWatch:
    """Asks nothing of the disk until `failed` has been told."""

    def __init__(self, container: Container, clock: Callable[[], float] = time.monotonic) -> None:
        self._container = container
        self._clock = clock
        self._failure: ReadFailed | None = None
        self._looked_at = 0.0

    def failed(self, failure: ReadFailed) -> None:
        """An expert could not be read."""
        self._failure = failure
        self._looked_at = self._clock()

    def look(self) -> StorageChanged | None:
        """Once, when what failed can be read again; None while it cannot, or nothing failed."""
        now = self._clock()
        if self._failure is None or now - self._looked_at < LOOK_EVERY_S:
            return None
        self._looked_at = now
        try:
            found = open_container(self._container.path)
            _try_again(self._failure)
        except (MartletError, OSError):
            return None
        self._failure = None
        if found.identity == self._container.identity:
            return StorageChanged(True, "The model's files can be read again.")
        return StorageChanged(False, "The model's files have changed. Load the model again.")


def _try_again(failure: ReadFailed) -> None:
    """Raises OSError or MartletError where the place that failed still does."""
    if failure.path is None:
        return
    with opened(failure.path) as descriptor:
        if len(os.pread(descriptor, failure.size, failure.offset)) < failure.size:
            raise OSError(f"{failure.path} ends too early")
