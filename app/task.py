"""Task: one thing done on a thread of its own, its result handed over on the UI thread.

For what a disk may take its time over. Threading: lives on the UI thread, where `then` is called;
`work` touches nothing of Qt and raises nothing.
"""

import threading
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Signal


class Task(QObject):
    """Begins at once, and goes when its result is handed over."""

    _worked = Signal(object)  # from the thread

    def __init__(
        self,
        work: Callable[[], object],
        then: Callable[[Any], object],
        name: str,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._work = work
        self._then = then
        self._closed = False
        self._worked.connect(self._finish)
        self._thread = threading.Thread(target=self._run, name=name)
        self._thread.start()

    def close(self) -> None:
        """Wait for its end; nothing is handed over any more."""
        self._closed = True
        self._thread.join()

    def _run(self) -> None:
        """On the thread."""
        self._worked.emit(self._work())

    def _finish(self, result: object) -> None:
        if not self._closed:
            self._thread.join()
            self.deleteLater()
            self._then(result)
