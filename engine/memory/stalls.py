"""Stalls: Linux tells of programs that stand still for want of memory.

The kernel wakes us when, within two seconds, some task (warning) or all tasks (critical) stood
still for a share of them. Two seconds: the one window that needs no privilege. Where this process
has no control group of version 2, the stalls are those of all programs.
Source: Documentation/accounting/psi.rst. Thresholds as systemd and GLib use them.
"""

import logging
import os
import select
import threading
from collections.abc import Callable
from pathlib import Path

from engine.protocol import PressureLevel

TRIGGERS: dict[str, PressureLevel] = {
    "some 200000 2000000": "warning",
    "full 200000 2000000": "critical",
}

log = logging.getLogger(__name__)


class StallTriggers:
    """Calls `on_stall` from a thread of its own until it is closed."""

    def __init__(self, file: Path, on_stall: Callable[[PressureLevel], None]) -> None:
        """Raises OSError where the kernel takes no triggers on `file`."""
        self._on_stall = on_stall
        self._levels = _armed(file)
        self._wake, self._woken = os.pipe()
        self._thread = threading.Thread(target=self._watch, name="memory-stalls", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; nothing is called after that. May be repeated."""
        if self._woken < 0:
            return
        os.close(self._woken)
        self._thread.join()
        self._woken = -1
        for descriptor in (self._wake, *self._levels):
            os.close(descriptor)

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        for descriptor in self._levels:
            poll.register(descriptor, select.POLLPRI)
        while True:
            for descriptor, event in poll.poll():
                if descriptor == self._wake:
                    return
                if event & select.POLLERR:  # the group is gone, and with it what it told
                    poll.unregister(descriptor)
                elif event & select.POLLPRI:
                    self._on_stall(self._levels[descriptor])


def _armed(file: Path) -> dict[int, PressureLevel]:
    """Descriptors that become readable when a trigger fires; they live as long as the trigger."""
    levels: dict[int, PressureLevel] = {}
    try:
        for trigger, level in TRIGGERS.items():
            descriptor = os.open(file, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            levels[descriptor] = level
            os.write(descriptor, trigger.encode() + b"\0")
    except OSError:
        for descriptor in levels:
            os.close(descriptor)
        raise
    return levels
