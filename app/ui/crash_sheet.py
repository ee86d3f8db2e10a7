"""CrashSheet: the report of a fault of our own, to read and to copy. The application goes on."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont, QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.crash import CrashReport
from app.ui import theme
from app.ui.label import Label
from app.ui.theme import SPACE, Role


class CrashSheet(QDialog):
    """Shows a report. Further faults while it is open are added to it.

    Signals:
        logs_wanted: the person asked where the logs are.
    """

    logs_wanted = Signal()

    def __init__(self, report: CrashReport, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Report of a Fault"))
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._text = QPlainTextEdit(report.text)
        self._text.setReadOnly(True)
        self._text.setFont(theme.code_font(0.9))
        self._text.setAccessibleName(self.tr("Report"))
        self._lay_out()
        self.resize(150 * SPACE, 100 * SPACE)

    @property
    def report(self) -> str:
        """All that Copy copies."""
        return self._text.toPlainText()

    def add(self, report: CrashReport) -> None:
        """Another fault."""
        self._text.appendPlainText(f"\n{report.text}")

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
