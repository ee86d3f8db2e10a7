"""SingleInstance: one application a data folder. A second start raises the first and ends.

A lock file decides who is first, since it holds even when the first does not answer; a local
socket, named after the data folder, carries the wish to be raised.
"""

import hashlib
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

ANSWER_WITHIN_MS = 2000
_RAISE = b"raise\n"


class SingleInstance(QObject):
    """The claim on a data folder, kept as long as this object lives.

    Signals:
        raise_wanted: another start was made; show a window.
    """

    raise_wanted = Signal()

    def __init__(self, data: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        data.mkdir(parents=True, exist_ok=True)
        self._lock = QLockFile(str(data / "martlet.lock"))
        self._lock.setStaleLockTime(0)  # stale only if its process is gone
        self._name = "martlet-" + hashlib.sha256(str(data.resolve()).encode()).hexdigest()[:16]
        self._server: QLocalServer | None = None

    def claim(self) -> bool:
        """Whether this is the first one; from then on it can be raised."""
        if not self._lock.tryLock(0):
            return False
        QLocalServer.removeServer(self._name)  # left by one that was killed
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_connection)
        self._server.listen(self._name)
        return True

    def raise_first(self) -> bool:
        """Ask the first one to show itself; whether it took the message."""
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        if not socket.waitForConnected(ANSWER_WITHIN_MS):
            return False
        socket.write(_RAISE)
        taken = socket.waitForBytesWritten(ANSWER_WITHIN_MS)
        socket.disconnectFromServer()
        return taken

    def release(self) -> None:
        """Give the claim up."""
        if self._server is not None:
            self._server.close()
        self._lock.unlock()

    def _on_connection(self) -> None:
        if self._server is None:
            return
        while connection := self._server.nextPendingConnection():
            connection.disconnected.connect(connection.deleteLater)
            self.raise_wanted.emit()  # there is nothing else that a start can want
