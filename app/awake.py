"""Awake: while something works, the machine does not fall asleep by itself.

On macOS `caffeinate -i` holds the assertion (the display may sleep) and watches our process, so
that nothing is held for a killed application. Elsewhere nothing needs to be done. Threading: lives
on the UI thread.
"""

import os
import subprocess
import sys
from collections.abc import Sequence

KEEP_AWAKE = ("caffeinate", "-i", "-w", str(os.getpid())) if sys.platform == "darwin" else ()


class Awake:
    """Held by any number of reasons at a time."""

    def __init__(self, command: Sequence[str] = KEEP_AWAKE) -> None:
        self._command = command
        self._reasons: set[str] = set()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_held(self) -> bool:
        """Whether there is a reason to stay awake."""
        return bool(self._reasons)

    def set(self, reason: str, working: bool) -> None:
        """Whether what `reason` names is at work now."""
        if working:
            self._reasons.add(reason)
        else:
            self._reasons.discard(reason)
        if self._reasons and self._process is None and self._command:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL)
        elif not self._reasons:
            self.release()

    def release(self) -> None:
        """Nothing works any more."""
        self._reasons.clear()
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
