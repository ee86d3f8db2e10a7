"""Mailbox: commands between the host's reading thread and its working thread.

The reader puts; the worker takes in order, or between two tokens takes only what is quick. Cancel
and the end of the input never wait in line: they set the running generation's flag at once. An
answer for another program gives way to whatever changes the model or the serving.
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
    Expect,
    Generate,
    Load,
    Plan,
    Quit,
    Resize,
    Serve,
    Stats,
    StopServing,
    Unload,
)

_QUICK = (Expect, Continue, Resize, Stats, CountTokens, Plan)
_SERVING = (Serve, StopServing)  # quick as well, but for the answer that they end
_ENDING = (*_SERVING, Load, Unload)  # what an answer for another program gives way to


class Mailbox:
    """Two threads: one puts, one takes."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._commands: deque[Command] = deque()
        self._current: tuple[str | None, threading.Event] | None = None  # None: of a program
        self._closed = False
        self._nudged = False

    def put(self, command: Command) -> Generate | None:
        """Add a command; act on Cancel and Quit at once.

        Returns the generation that Cancel took out of the line: it will not be begun.
        """
        with self._changed:
            if isinstance(command, Cancel):
                return self._cancel(command.id)
            self._closed |= isinstance(command, Quit)
            if self._closed or (isinstance(command, _ENDING) and self._serves_program()):
                self._cancel_current()
            self._commands.append(command)
            self._changed.notify()
        return None

    def nudge(self) -> None:
        """Let a `take` that waits, or the next one, return early."""
        with self._changed:
            self._nudged = True
            self._changed.notify()

    def take(self, timeout: float) -> Command | None:
        """The next command; None after `timeout` seconds or a nudge. Once closed, always Quit."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._commands or self._nudged, timeout)
            self._nudged = False
            if self._closed:
                return Quit()
            command = self._commands.popleft() if self._commands else None
            if isinstance(command, Generate):
                self._current = (command.id, threading.Event())  # from here on Cancel reaches it
            return command

    def take_quick(self) -> Command | None:
        """The next command that is done in no time, out of the line; None if there is none."""
        with self._changed:
            quick = _QUICK if self._serves_program() else (*_QUICK, *_SERVING)
            command = next((c for c in self._commands if isinstance(c, quick)), None)
            if command is not None:
                self._commands.remove(command)
            return command

    @contextmanager
    def generation(self) -> Iterator[threading.Event]:
        """The generation that was taken runs: yields the flag that Cancel and Quit set."""
        assert self._current is not None, "a generation was taken"
        try:
            yield self._current[1]
        finally:
            with self._changed:
                self._current = None

    @contextmanager
    def program(self, cancelled: threading.Event) -> Iterator[None]:
        """An answer for another program runs; `cancelled` is set when it must give way."""
        with self._changed:
            if self._closed or any(isinstance(c, _ENDING) for c in self._commands):
                cancelled.set()
            self._current = (None, cancelled)
        try:
            yield
        finally:
            with self._changed:
                self._current = None

    def _serves_program(self) -> bool:
        return self._current is not None and self._current[0] is None

    def _cancel(self, id: str) -> Generate | None:
        if self._current is not None and self._current[0] == id:
            self._cancel_current()
            return None
        waiting = (c for c in self._commands if isinstance(c, Generate) and c.id == id)
        if (found := next(waiting, None)) is not None:
            self._commands.remove(found)
        return found

    def _cancel_current(self) -> None:
        if self._current is not None:
            self._current[1].set()
