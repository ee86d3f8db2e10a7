"""AttachmentReader: reads files for the composer, off the UI thread.

Threading: lives on the UI thread; a pool's thread reads (a disk may be slow or asleep).
"""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QThreadPool, Signal

from app.attachments import AttachmentRefused, read_attachment
from app.conversation import Attachment, Failure


class AttachmentReader(QObject):
    """Signals: see the comment of each."""

    # tuple[Attachment, ...]: those of the files that could be read, in their order
    read = Signal(object)
    # Failure: a file that could not be read
    failed = Signal(object)

    def start(self, paths: Sequence[Path]) -> None:
        """Read these files."""
        reader = _Outcome()
        reader.read.connect(self.read)
        reader.failed.connect(self.failed)
        QThreadPool.globalInstance().start(lambda: reader.run(tuple(paths)))


class _Outcome(QObject):
    """Belongs to one reading, so that a window may close in the middle of it."""

    read = Signal(object)
    failed = Signal(object)

    def run(self, paths: Sequence[Path]) -> None:
        found: list[Attachment] = []
        for path in paths:
            try:
                found.append(read_attachment(path))
            except AttachmentRefused as error:
                kind = type(error).__name__
                self.failed.emit(Failure(kind, error.message, error.remedy))
        if found:
            self.read.emit(tuple(found))
