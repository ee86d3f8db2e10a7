"""DiagnosticsWindow: what this computer is to Martlet, and what computes; true while it is open."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.engine_client import EngineClient
from app.settings_store import SettingsStore
from app.ui.diagnostics_words import Section, as_text, sections
from app.ui.label import Label
from app.ui.scroll_bar import use_thin_scroll_bar
from app.ui.theme import SPACE, Role

SIZE = (140 * SPACE, 160 * SPACE)
EDGE, GAP = 5 * SPACE, 3 * SPACE
NAME_WIDTH = 36 * SPACE


class DiagnosticsWindow(QWidget):
    """Follows the engine and the settings.

    Signals: see the comment of each.
    """

    # the person asked where the logs are
    logs_wanted = Signal()

    def __init__(
        self, engine: EngineClient, settings: SettingsStore, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._engine = engine
        self._settings = settings
        self._shown: tuple[Section, ...] = ()
        self._values: list[Value] = []
        self._scroll = QScrollArea()
        self.setWindowTitle(self.tr("Diagnostics"))
        self._lay_out()
        self.resize(*SIZE)
        engine.state_changed.connect(self._show)
        settings.changed.connect(self._show)
        self._show()

    @property
    def text(self) -> str:
        """All that Copy copies."""
        return as_text(self._shown)

    def _show(self) -> None:
        """Change values in place; build anew only where there are other rows."""
        found = sections(self._engine.state, self._settings.settings)
        if _names(found) != _names(self._shown):
            self._build(found)
        for label, value in zip(self._values, _values(found), strict=True):
            label.say(value)
        self._shown = found

    def _build(self, found: Sequence[Section]) -> None:
        self._values = []
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(EDGE, EDGE, EDGE, EDGE)
        column.setSpacing(2 * SPACE)
        for section in found:
            column.addWidget(Label(section.title, weight=QFont.Weight.DemiBold))
            column.addLayout(self._rows(section))
            column.addSpacing(3 * SPACE)
        column.addStretch(1)
        self._scroll.setWidget(content)

    def _rows(self, section: Section) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(GAP)
        grid.setVerticalSpacing(SPACE)
        grid.setColumnMinimumWidth(0, NAME_WIDTH)
        grid.setColumnStretch(1, 1)
        for row, (name, _) in enumerate(section.rows):
            title = Label(name, role=Role.SECONDARY)
            value = Value()
            title.setBuddy(value)
            grid.addWidget(title, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(value, row, 1)
            self._values.append(value)
        return grid

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text)

    def _lay_out(self) -> None:
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        use_thin_scroll_bar(self._scroll)
        self._scroll.setWidgetResizable(True)
        self._scroll.setAccessibleName(self.tr("Diagnostics"))
        reveal = QPushButton(self.tr("Reveal Logs"))
        reveal.clicked.connect(self.logs_wanted)
        copy = QPushButton(self.tr("Copy"))
        copy.clicked.connect(self._copy)
        row = QHBoxLayout()
        row.setContentsMargins(5 * SPACE, 2 * SPACE, 5 * SPACE, 4 * SPACE)
        row.addWidget(reveal)
        row.addStretch(1)
        row.addWidget(copy)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._scroll, 1)
        column.addLayout(row)


class Value(Label):
    """Text that can be selected, and is as high as its lines: a scroll area does not ask."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent, wrap=True, tabular=True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def say(self, text: str) -> None:
        """Show another text."""
        if text != self.text():
            self.setText(text)
            self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        self.setMinimumHeight(0)
        self.setMinimumHeight(max(self.heightForWidth(self.width()), 0))  # -1: no text


def _names(found: Sequence[Section]) -> list[tuple[str, list[str]]]:
    return [(section.title, [name for name, _ in section.rows]) for section in found]


def _values(found: Sequence[Section]) -> list[str]:
    return [value for section in found for _, value in section.rows]
