"""The status bar: one quiet line that is always true, from the engine's latest report."""

import html

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QPen, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from app.conversation import Activity
from app.engine_state import EngineState, ServingState
from app.ui import engine_words, figures, server_words, theme
from app.ui.inspector import memory_parts
from app.ui.label import ElidedLabel, Label
from app.ui.plots import ShareBar
from app.ui.theme import Role, color

HEIGHT = 7 * theme.SPACE
ROOMY = 180 * theme.SPACE  # px; narrower than this, what can be told from the bar is left out
TIGHT = 150 * theme.SPACE  # px; narrower than this, rates are left out: they are in the inspector


class Light(QWidget):
    """A small round light in a role's colour."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._role = Role.TERTIARY
        self.setFixedSize(self.sizeHint())

    def set_role(self, role: Role) -> None:
        """Change the light's colour."""
        self._role = role
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(2 * theme.SPACE, 2 * theme.SPACE)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color(self._role))
        painter.drawEllipse(QRectF(self.rect()))


class BadgeLabel(Label):
    """A word in a rounded frame, with its reason under the pointer."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent, size=theme.CAPTION)
        self.setContentsMargins(2 * theme.SPACE, 0, 2 * theme.SPACE, 0)

    def show_badge(self, badge: engine_words.Badge) -> None:
        """Show it; nothing where there is no word."""
        self.setVisible(bool(badge.text))
        self.setText(badge.text)
        self.setToolTip(f"<qt>{html.escape(badge.reason)}</qt>" if badge.reason else "")
        self.setAccessibleDescription(badge.reason)
        self.set_role(badge.role)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = self.palette().color(QPalette.ColorRole.WindowText)
        frame.setAlphaF(0.45)
        painter.setPen(QPen(frame))
        area = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(area, area.height() / 2, area.height() / 2)
        painter.end()
        super().paintEvent(event)


class ServerLight(QWidget):
    """Says that other programs are listened to, and lights up while one is answered."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._light = Light()
        self._name = ElidedLabel(self.tr("Local server"), role=Role.SECONDARY, size=theme.CAPTION)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 3 * theme.SPACE, 0)
        row.setSpacing(2 * theme.SPACE)
        row.addWidget(self._light)
        row.addWidget(self._name)

    def show_name(self, shown: bool) -> None:
        """Whether there is room for more than the light."""
        self._name.setVisible(shown)

    def show_serving(self, serving: ServingState) -> None:
        """Show what it is at; nothing while it is off."""
        condition = server_words.light(serving)
        self.setVisible(condition is not None)
        if condition is not None:
            self._light.set_role(condition.light)
            self.setToolTip(f"<qt>{html.escape(condition.text)}</qt>")
            self.setAccessibleName(condition.text)


class StatusBar(QWidget):
    """State, memory of the engine, hit rate and disk at the left; memory pressure at the right."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Status"))
        self.setMinimumHeight(HEIGHT)
        # What it says never makes a window wider.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._is_answering = False
        self._light = Light()
        self._state = self._quiet()
        self._shares = ShareBar(
            self.tr("Memory of the engine"), (Role.CORE, Role.EXPERTS, Role.CONVERSATION)
        )
        self._memory = self._quiet()
        self._pool = self._quiet()
        self._hits = self._quiet()
        self._disk = self._quiet()
        self._pressure = self._quiet()
        self._badge = BadgeLabel()
        self._server = ServerLight()
        self._link = ElidedLabel(role=Role.SECONDARY, size=theme.CAPTION)
        self._link.hide()
        self._lay_out()
        self.show_state(EngineState())

    def show_state(self, state: EngineState, activity: Activity | None = None) -> None:
        """Show the engine's latest report, and what the answer being made is at."""
        condition = engine_words.condition(state, activity)
        self._light.set_role(condition.light)
        self._state.setText(condition.text)
        pressure = engine_words.pressure(state)
        self._pressure.setText(pressure.text)
        self._pressure.set_role(pressure.light)
        self._badge.show_badge(engine_words.condition_badge(state))
        self._server.show_serving(state.serving)
        self._show_figures(state)

    def show_link(self, target: str) -> None:
        """While the pointer is on a link, say where it leads; "" ends that."""
        self._link.setText(target)
        self._link.setVisible(bool(target))
        self._pressure.setVisible(not target)

    def line(self) -> str:
        """All that the bar says, as one text."""
        rates = (self._memory, self._pool, self._hits, self._disk)
        labels = (self._state, *rates, self._badge, self._pressure)
        return " · ".join(label.text() for label in labels if not label.isHidden())

    def _show_figures(self, state: EngineState) -> None:
        stats, plan = state.stats, state.plan
        loaded = state.model == "loaded" and stats is not None and plan is not None
        self._is_answering = loaded and (state.answering is not None or state.serving.answering)
        for widget in (self._shares, self._memory):
            widget.setVisible(loaded)
        self._fit_figures()
        if not loaded or stats is None or plan is None:
            return
        self._shares.show_shares(memory_parts(state, stats.memory_bytes), plan.budget_bytes)
        self._memory.setText(figures.memory(stats.memory_bytes))
        pool = figures.memory(plan.expert_bytes)
        self._pool.setText(self.tr("expert pool %1").replace("%1", pool))
        self._hits.setText(self.tr("hits %1").replace("%1", figures.share(stats.hit_rate)))
        self._disk.setText(figures.disk_rate(stats.bytes_per_s))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_figures()
        self._server.show_name(self.width() >= ROOMY)

    def _fit_figures(self) -> None:
        """Leave out what there is no room for."""
        self._pool.setVisible(not self._memory.isHidden() and self.width() >= ROOMY)
        for widget in (self._hits, self._disk):
            widget.setVisible(self._is_answering and self.width() >= TIGHT)

    def _quiet(self) -> Label:
        return Label(role=Role.SECONDARY, size=theme.CAPTION, tabular=True)

    def _lay_out(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(4 * theme.SPACE, 0, 4 * theme.SPACE, 0)
        row.setSpacing(2 * theme.SPACE)
        row.addWidget(self._light)
        row.addWidget(self._state)
        for widget in (self._shares, self._memory, self._pool, self._hits, self._disk):
            row.addSpacing(3 * theme.SPACE)
            row.addWidget(widget)
        row.addStretch(1)
        row.addWidget(self._link, 4)
        row.addWidget(self._server)
        row.addWidget(self._badge, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addSpacing(theme.SPACE)
        row.addWidget(self._pressure)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), color(Role.BASE))
        painter.fillRect(0, 0, self.width(), 1, color(Role.LINE))
