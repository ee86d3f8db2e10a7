"""Faults of our own: caught at the outermost frame, logged, and shown as a report to copy.

The application goes on: what was said is on the disk already.
"""

import logging
import platform
import sys
import threading
import traceback
from importlib.metadata import version
from types import TracebackType

from PySide6 import __version__ as pyside_version
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QFont, QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.ui import theme
from app.ui.label import Label
from app.ui.theme import SPACE, Role

log = logging.getLogger(__name__)


class CrashReporter(QObject):
    """Takes over what Python does with exceptions that nobody caught, on every thread.

    Signals:
        crashed: the traceback, on the UI thread.
    """

    crashed = Signal(str)

    def install(self) -> None:
        """From now on, uncaught exceptions are logged and told."""
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception

    def uninstall(self) -> None:
        """Leave it to Python again."""
        sys.excepthook = sys.__excepthook__
        threading.excepthook = threading.__excepthook__

    def _on_exception(
        self, kind: type[BaseException], fault: BaseException, trace: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            QGuiApplication.quit()
            return
        report = "".join(traceback.format_exception(kind, fault, trace))
        log.critical("A fault of our own:\n%s", report)
        self.crashed.emit(report)  # queued by Qt when another thread emits

    def _on_thread_exception(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            self._on_exception(args.exc_type, args.exc_value, args.exc_traceback)


class CrashSheet(QDialog):
    """Shows a report. Further faults while it is open are added to it.

    Signals:
        logs_wanted: the person asked where the logs are.
    """

    logs_wanted = Signal()

    def __init__(self, report: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Report of a Fault"))
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._text = QPlainTextEdit(f"{machine()}\n\n{report}")
        self._text.setReadOnly(True)
        self._text.setFont(theme.code_font(0.9))
        self._text.setAccessibleName(self.tr("Report"))
        self._lay_out()
        self.resize(150 * SPACE, 100 * SPACE)

    @property
    def report(self) -> str:
        """All that Copy copies."""
        return self._text.toPlainText()

    def add(self, report: str) -> None:
        """Another fault."""
        self._text.appendPlainText(f"\n{report}")

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.report)

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(5 * SPACE, 5 * SPACE, 5 * SPACE, 4 * SPACE)
        column.setSpacing(3 * SPACE)
        heading = self.tr("Martlet made a mistake and went on.")
        column.addWidget(Label(heading, weight=QFont.Weight.DemiBold))
        words = self.tr(
            "Your conversations are saved. This report says where it happened; it holds no words"
            " of yours and is sent nowhere. You can copy it to whoever should see it."
        )
        column.addWidget(Label(words, role=Role.SECONDARY, wrap=True))
        column.addWidget(self._text, 1)
        column.addLayout(self._buttons())

    def _buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        reveal = QPushButton(self.tr("Reveal Logs"))
        reveal.clicked.connect(self.logs_wanted)
        copy = QPushButton(self.tr("Copy Report"))
        copy.clicked.connect(self._copy)
        close = QPushButton(self.tr("Close"))
        close.clicked.connect(self.accept)
        close.setDefault(True)
        row.addWidget(reveal)
        row.addStretch(1)
        row.addWidget(copy)
        row.addWidget(close)
        return row


def machine() -> str:
    """One line about this machine and this build."""
    return (
        f"Martlet {version('martlet')}, Python {platform.python_version()},"
        f" PySide {pyside_version}, {platform.platform()}"
    )
