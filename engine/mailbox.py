"""Mailbox: commands between the host's reading thread and its working thread.

The reader puts; the worker takes in order, or between two tokens takes only what is quick. Cancel
and the end of the input never wait in line: they set the running generation's flag at once.
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from engine.protocol import (
    Cancel,
    Command,
    Continue,
    CountTokens,
    Generate,
    Quit,
    Resize,
    Stats,
)

_QUICK = (Continue, Resize, Stats, CountTokens)


class Mailbox:
    """Two threads: one puts, one takes."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._commands: deque[Command] = deque()
        self._cancelled: set[str] = set()  # generations that still wait here
        self._current: tuple[str, threading.Event] | None = None
        self._closed = False

    def put(self, command: Command) -> None:
        """Add a command; act on Cancel and Quit at once."""
        with self._changed:
            match command:
                case Cancel(id=id):
                    self._cancel(id)
                    return
                case Quit():
                    self._closed = True
                    self._cancel_current()
            self._commands.append(command)
            self._changed.notify()

    def take(self, timeout: float) -> Command | None:
        """The next command, or None after `timeout` seconds. Once closed: Quit, whatever waits."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._commands, timeout)
            if self._closed:
                return Quit()
            return self._commands.popleft() if self._commands else None

    def take_quick(self) -> Command | None:
        """The next command that is done in no time, out of the line; None if there is none."""
        with self._changed:
            command = next((c for c in self._commands if isinstance(c, _QUICK)), None)
            if command is not None:
                self._commands.remove(command)
            return command

    @contextmanager
    def generation(self, id: str) -> Iterator[threading.Event]:
        """A generation runs: yields the flag that Cancel and Quit set."""
        cancel = threading.Event()
        with self._changed:
            if self._closed or id in self._cancelled:
                cancel.set()
            self._cancelled.discard(id)
            self._current = (id, cancel)
        try:
            yield cancel
        finally:
            with self._changed:
                self._current = None

    def _cancel(self, id: str) -> None:
        if self._current is not None and self._current[0] == id:
            self._cancel_current()
        elif any(isinstance(c, Generate) and c.id == id for c in self._commands):
            self._cancelled.add(id)

    def _cancel_current(self) -> None:
        if self._current is not None:
            self._current[1].set()
