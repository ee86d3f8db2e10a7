"""DiskProbe: how fast the models' disk reads, measured for five seconds when a person asks.

In a process of its own, `python -m app.disk_probe FOLDER`, which can be ended at any moment and
prints bytes a second. Threading: lives on the UI thread, and so does its signal.
"""

import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QProcess, Signal

from app.disk_speeds import keep_speed, kept_speed
from engine.container.probe import probe_disk
from engine.errors import MartletError

PROBE_COMMAND = (sys.executable, "-m", "app.disk_probe")

log = logging.getLogger(__name__)


class DiskProbe(QObject):
    """Keeps what it measured, for this disk.

    Signals: see the comment of each.
    """

    # the measuring has begun, or is over
    changed = Signal()

    def __init__(self, folder: Path, kept_in: Path, command: Sequence[str] = PROBE_COMMAND) -> None:
        """`folder`: on the disk to measure. `kept_in`: the file of measurements."""
        super().__init__()
        self._folder = folder
        self._kept_in = kept_in
        self._command = (*command, str(folder))
        self._process: QProcess | None = None
        self.bytes_per_s = kept_speed(kept_in, folder)

    @property
    def is_measuring(self) -> bool:
        """Whether it is at it."""
        return self._process is not None

    def measure(self) -> None:
        """Begin, unless it is at it already."""
        if self._process is not None:
            return
        process = QProcess(self)
        process.finished.connect(self._finish)
        process.errorOccurred.connect(self._on_error)
        process.setUnixProcessParameters(QProcess.UnixProcessFlag.CreateNewSession)
        self._process = process
        process.start(self._command[0], list(self._command[1:]))
        self.changed.emit()

    def close(self) -> None:
        """Nothing is told any more."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.waitForFinished()

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:  # finished() does not follow
            self._finish()

    def _finish(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        said = bytes(process.readAllStandardOutput().data()).strip()
        process.deleteLater()
        try:
            measured = float(said)
        except ValueError:
            measured = 0.0
        if measured > 0:
            self.bytes_per_s = measured
            keep_speed(self._kept_in, self._folder, measured)
        else:
            log.warning("the disk could not be measured")
        self.changed.emit()


def main(folder: Path) -> None:
    """Be the process."""
    try:
        probe = probe_disk(folder)
    except MartletError as error:
        sys.exit(str(error))
    sys.stdout.write(f"{probe.bytes_per_s if probe else 0.0}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
