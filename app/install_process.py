"""InstallProcess: one life of the download process, `python -m engine.install`.

Threading: lives on the UI thread, and so do its signals; `QProcess` reads and writes the pipes.
"""

import logging
import sys
from collections.abc import Sequence

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, QTimer, Signal

from engine.install import protocol as wire
from engine.protocol import BadLine

INSTALL_COMMAND = (sys.executable, "-X", "faulthandler", "-m", "engine.install")
END_WITHIN_MS = 3000  # the process itself gives up 1.5 s after its input closed
STOP_WITHIN_MS = 5000  # for what takes longer, such as forcing gigabytes to the disk


log = logging.getLogger(__name__)
install_log = logging.getLogger("engine.install")


class InstallProcess(QObject):
    """Starts at once with one command. `endpoint`: of the hub; "": its usual one.

    Signals: see the comment of each.
    """

    # wire.Event: what the process says
    heard = Signal(object)
    # the process is gone; nothing follows
    ended = Signal()

    def __init__(
        self,
        command: Sequence[str],
        endpoint: str,
        first: wire.Command,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._lines = bytearray()
        self._closed = False
        self._killing = QTimer(self, singleShot=True, interval=STOP_WITHIN_MS)
        self._process = QProcess(self)
        self._killing.timeout.connect(self._process.kill)
        self._process.setProgram(command[0])
        self._process.setArguments(list(command[1:]))
        # An interrupt typed into our terminal is not meant for it.
        self._process.setUnixProcessParameters(QProcess.UnixProcessFlag.CreateNewSession)
        if endpoint:
            environment = QProcessEnvironment.systemEnvironment()
            environment.insert("HF_ENDPOINT", endpoint)
            self._process.setProcessEnvironment(environment)
        self._process.readyReadStandardOutput.connect(self._read)
        self._process.readyReadStandardError.connect(self._read_log)
        self._process.finished.connect(self._finish)
        self._process.errorOccurred.connect(self._on_error)
        self._process.start()
        self.send(first)

    def send(self, command: wire.Command) -> None:
        """Say something; lost without a word if the process is gone."""
        if self._process.state() != QProcess.ProcessState.NotRunning:
            self._process.write(wire.encode(command))

    def pause(self) -> None:
        """Ask it to end; it is killed where it does not within `STOP_WITHIN_MS`."""
        self.send(wire.Pause())
        self._killing.start()

    def kill(self) -> None:
        """End it now, which costs nothing that is on the disk; `ended` follows."""
        self._process.kill()

    def hang_up(self) -> None:
        """Close its input, which means Pause; nothing is told any more. Then join()."""
        self._closed = True
        self._killing.stop()
        self._process.closeWriteChannel()

    def abandon(self) -> None:
        """End it now; it deletes itself when it is gone."""
        self._closed = True
        self._process.finished.connect(self.deleteLater)
        self._process.kill()

    def join(self) -> None:
        """Wait for its end after hang_up(); by force where it takes too long."""
        if not self._process.waitForFinished(END_WITHIN_MS):
            self._process.kill()
            self._process.waitForFinished()

    def _read(self) -> None:
        self._lines += self._process.readAllStandardOutput().data()
        *lines, self._lines = self._lines.split(b"\n")
        for line in lines:
            if not self._closed:
                self._hear(bytes(line))

    def _hear(self, line: bytes) -> None:
        try:
            event = wire.decode_event(line)
        except BadLine as error:
            log.error("an event was not understood: %s", error)
            return
        self.heard.emit(event)

    def _read_log(self) -> None:
        text = bytes(self._process.readAllStandardError().data()).decode(errors="replace")
        for line in text.splitlines():
            install_log.info("%s", line)

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:  # finished() does not follow
            log.error("the download process cannot start: %s", self._process.errorString())
            QTimer.singleShot(0, self, self._finish)

    def _finish(self) -> None:
        self._read()
        self._killing.stop()
        if not self._closed:
            self._closed = True
            self.ended.emit()
