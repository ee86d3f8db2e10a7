"""Stop: why an installation ends early, heard between two chunks and in every wait.

A person's wish to pause or cancel, or a fault that one thread met and that concerns all.
"""

import threading
from typing import Literal

from engine.errors import Cancelled

Wish = Literal["pause", "cancel"]


class Stop:
    """Set by any thread. The first reason counts, but that a cancel overrules all others."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._fault: BaseException | None = None
        self._branches: list[Stop] = []
        self.wish: Wish | None = None

    def ask(self, wish: Wish) -> None:
        """A person wants it to stop."""
        with self._lock:
            if wish == "cancel" or not self._event.is_set():
                self.wish, self._fault = wish, None
            self._event.set()
            branches = tuple(self._branches)
        for branch in branches:
            branch.ask(wish)

    def branch(self) -> "Stop":
        """One that hears what is asked of this one; its faults are its own."""
        branch = Stop()
        with self._lock:
            self._branches.append(branch)
            wish = self.wish
        if wish:
            branch.ask(wish)
        return branch

    def give_up(self, fault: BaseException) -> None:
        """It cannot go on."""
        with self._lock:
            if not self._event.is_set():
                self._fault = fault
            self._event.set()

    def is_asked(self) -> bool:
        """Whether to stop, for whatever reason."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise the reason to stop, if there is one: the fault, or Cancelled."""
        if not self._event.is_set():
            return
        if self._fault is not None:
            raise self._fault
        raise Cancelled("Stopped as asked.", "Run it again: what is done stays done.")

    def sleep(self, seconds: float) -> None:
        """Wait, but not longer than until there is a reason to stop, which is raised."""
        self._event.wait(seconds)
        self.check()
