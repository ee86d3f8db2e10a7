"""PlanView: what a model would take, part by part, against what is free; before it is loaded."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.engine_state import Ledger, Planned
from app.ui import figures, theme
from app.ui.label import Label
from app.ui.theme import SPACE, Role

COLUMNS = 3  # of the legend
BAR_HEIGHT = 4 * SPACE

_ROLES = (
    Role.CORE,
    Role.EXPERTS,
    Role.CONVERSATION,
    Role.STAGING,
    Role.SCRATCH,
    Role.RUNTIME,
)


class PlanView(QWidget):
    """A bar, what its colours mean, and what follows in words."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bar = LedgerBar()
        self._amounts = [
            Label(role=Role.SECONDARY, size=theme.CAPTION, tabular=True) for _ in _ROLES
        ]
        self._words = Label(size=theme.CAPTION, wrap=True)
        self._parts = QWidget()
        self._lay_out()
        self.show_planned(None)

    def show_planned(self, planned: Planned | None) -> None:
        """Show a plan; None while it is not known."""
        ledger = planned.ledger if planned else None
        self._bar.setVisible(ledger is not None)
        self._parts.setVisible(ledger is not None)
        if planned is None:
            self._say(self.tr("Looking at the model…"), Role.SECONDARY)
            return
        if ledger is not None:
            self._bar.show_parts(_parts(ledger), planned.free_bytes)
            for label, name, count in zip(
                self._amounts, self._names(), _parts(ledger), strict=True
            ):
                label.setText(f"{name} {figures.memory(count)}")
            self._bar.setAccessibleDescription(", ".join(label.text() for label in self._amounts))
        self._say(*self._outcome(planned))

    def _outcome(self, planned: Planned) -> tuple[str, Role]:
        if planned.message:
            return f"{planned.message} {planned.remedy}".strip(), Role.WARNING
        assert planned.ledger is not None, "a plan that was not refused has its parts"
        words = self.tr("Takes %1 of the %2 that are free.")
        words = words.replace("%1", figures.memory(planned.ledger.total_bytes))
        return words.replace("%2", figures.memory(planned.free_bytes)), Role.SECONDARY

    def _say(self, words: str, role: Role) -> None:
        self._words.setText(words)
        self._words.set_role(role)

    def _names(self) -> tuple[str, ...]:
        return (
            self.tr("Core"),
            self.tr("Experts"),
            self.tr("Conversation"),
            self.tr("Staging"),
            self.tr("Scratch"),
            self.tr("Runtime"),
        )

    def _lay_out(self) -> None:
        self._bar.setAccessibleName(self.tr("Memory that the model would take"))
        grid = QGridLayout(self._parts)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(3 * SPACE)
        grid.setVerticalSpacing(SPACE)
        for index, (label, role) in enumerate(zip(self._amounts, _ROLES, strict=True)):
            entry = QHBoxLayout()
            entry.setSpacing(SPACE + 2)
            entry.addWidget(Swatch(role))
            entry.addWidget(label, 1)
            grid.addLayout(entry, index // COLUMNS, index % COLUMNS)
            grid.setColumnStretch(index % COLUMNS, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2 * SPACE)
        column.addWidget(self._bar)
        column.addWidget(self._parts)
        column.addWidget(self._words)


class LedgerBar(QWidget):
    """Parts of a whole side by side; a line where what is free ends, if they go beyond it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._parts: Sequence[int] = ()
        self._free = 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_parts(self, parts: Sequence[int], free: int) -> None:
        """Bytes: one part a role, and what they may take together."""
        self._parts, self._free = parts, free
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(42 * SPACE, BAR_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        shape = QPainterPath()
        shape.addRoundedRect(area, theme.RADIUS_CONTROL / 2, theme.RADIUS_CONTROL / 2)
        painter.setClipPath(shape)
        painter.fillRect(area, theme.color(Role.FREE))
        whole = max(self._free, sum(self._parts), 1)
        left = area.left()
        for part, role in zip(self._parts, _ROLES, strict=False):
            width = area.width() * part / whole
            painter.fillRect(QRectF(left, area.top(), width, area.height()), theme.color(role))
            left += width
        if self._free < whole:
            x = area.left() + area.width() * self._free / whole
            for role, width in ((Role.BASE, 6), (Role.ERROR, 2)):
                painter.setPen(QPen(theme.color(role), width))
                painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))


class Swatch(QWidget):
    """A small square in a role's colour."""

    def __init__(self, role: Role, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._role = role
        self.setFixedSize(2 * SPACE, 2 * SPACE)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(theme.color(self._role))
        painter.setBrush(theme.color(self._role))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 2, 2)


def _parts(ledger: Ledger) -> tuple[int, ...]:
    """In the order of the roles."""
    return (
        ledger.core_bytes,
        ledger.expert_bytes,
        ledger.state_bytes,
        ledger.staging_bytes,
        ledger.scratch_bytes,
        ledger.runtime_bytes,
    )
