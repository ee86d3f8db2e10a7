"""Ending on SIGINT and SIGTERM as on Quit: Python's handlers do not run while Qt waits."""

import signal
import socket

from PySide6.QtCore import QCoreApplication, QObject, QSocketNotifier


class QuitOnSignal(QObject):
    """From now on, Control-C in a terminal and a polite kill quit the application."""

    def __init__(self, application: QCoreApplication) -> None:
        super().__init__(application)
        self._application = application
        self._inlet, self._outlet = socket.socketpair()
        self._inlet.setblocking(False)
        self._outlet.setblocking(False)
        self._notifier = QSocketNotifier(self._outlet.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._quit)
        signal.set_wakeup_fd(self._inlet.fileno())
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)  # the number comes through the socket

    def _quit(self) -> None:
        self._outlet.recv(64)
        self._application.quit()
