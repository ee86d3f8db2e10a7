"""One application a data folder: the lock, and the way a second start tells the first.

The lock file is what protects the data; the local socket only carries "come to the front" and
files to open. QtNetwork is used for local sockets alone: nothing here can reach a network.
Threading: lives on the UI thread.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

WAIT_MS = 2000
_MOST_BYTES = 64_000


class InstanceLock(QObject):
    """Holds a data folder for this process. Signals: see the comment of each."""

    # tuple[str, ...]: a second start wants us in front, with these files
    summoned = Signal(object)

    def __init__(self, data: Path) -> None:
        super().__init__()
        self._data = data
        self._lock = QLockFile(str(data / "in-use.lock"))
        self._lock.setStaleLockTime(0)  # only a lock whose process is gone is stale
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._accept)

    def acquire(self) -> bool:
        """Take the folder. False: another process has it. Raises OSError where none can."""
        self._data.mkdir(parents=True, exist_ok=True)
        if not self._lock.tryLock(0):
            if self._lock.error() == QLockFile.LockError.LockFailedError:
                return False
            raise OSError(f"{self._data} cannot be written.")
        QLocalServer.removeServer(self.name)  # left by a killed process; the lock is ours
        self._server.listen(self.name)
        return True

    def summon_other(self, files: Sequence[str] = ()) -> bool:
        """Ask the process that has the folder to come to the front. Whether it heard."""
        socket = QLocalSocket()
        socket.connectToServer(self.name)
        if not socket.waitForConnected(WAIT_MS):
            return False
        socket.write(json.dumps(list(files)).encode() + b"\n")
        heard = socket.waitForBytesWritten(WAIT_MS)
        socket.disconnectFromServer()
        return heard

    def release(self) -> None:
        """Let the folder go."""
        self._server.close()
        self._lock.unlock()

    @property
    def name(self) -> str:
        """The socket's name. Short: its path has about a hundred characters on some systems."""
        folder = hashlib.sha256(str(self._data.resolve()).encode()).hexdigest()[:16]
        return f"martlet-{folder}"

    def _accept(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.readyRead.connect(self._read)
            socket.disconnected.connect(socket.deleteLater)

    def _read(self) -> None:
        socket = self.sender()
        assert isinstance(socket, QLocalSocket), "only sockets are connected"
        if socket.bytesAvailable() > _MOST_BYTES:
            socket.abort()
        elif socket.canReadLine():
            self.summoned.emit(parse_files(bytes(socket.readLine().data())))


def parse_files(line: bytes) -> tuple[str, ...]:
    """The files that a second start sent; none where the line makes no sense."""
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError):
        return ()
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()
