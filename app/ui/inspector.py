"""Inspector: memory against its budget, experts found in memory, and where a token's time goes.

Off at first. It draws what the engine reported, moment by moment, since the model was loaded.
"""

from collections import deque

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.engine_state import EngineState, EngineStats
from app.ui import figures, theme
from app.ui.label import Label
from app.ui.plots import BarPlot, Legend, LinePlot, Plot, StackPlot
from app.ui.scroll_bar import use_thin_scroll_bar
from app.ui.theme import Role

WIDTH = 69 * theme.SPACE
MOMENTS = 120  # reported about once a second

_MEMORY_ROLES = (Role.CORE, Role.EXPERTS, Role.CONVERSATION)
_TIME_ROLES = (Role.CORE, Role.DISK)


class Inspector(QScrollArea):
    """The panel at the right of the window."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Inspector"))
        self.setFixedWidth(WIDTH)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        use_thin_scroll_bar(self)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._memory = StackPlot(self.tr("Memory"), _MEMORY_ROLES)
        self._hits = LinePlot(self.tr("Experts found in memory"), Role.EXPERTS)
        self._times = BarPlot(self.tr("Time per token"), _TIME_ROLES)
        self._figures: dict[str, Label] = {}
        self._history: deque[EngineStats] = deque(maxlen=MOMENTS)
        self._model = ""
        self.setWidget(self._lay_out())
        self.show_state(EngineState())

    def show_state(self, state: EngineState) -> None:
        """Show what is known of the engine now."""
        if state.model_path != self._model:
            self._model = state.model_path
            self._history.clear()
        if state.stats is not None and (not self._history or self._history[-1] is not state.stats):
            self._history.append(state.stats)
        self._show_memory(state)
        self._show_rates()

    def _show_memory(self, state: EngineState) -> None:
        if state.plan is None:
            self._memory.show_points((), 0)
            self._say("memory", figures.NONE)
            return
        parts = [memory_parts(state, stats.memory_bytes) for stats in self._history]
        self._memory.show_points(parts, state.plan.budget_bytes)
        used = self._history[-1].memory_bytes if self._history else 0
        self._say("memory", figures.memory_of(used, state.plan.budget_bytes))

    def _show_rates(self) -> None:
        busy = [stats for stats in self._history if stats.token_ms > 0]
        self._hits.show_points([stats.hit_rate for stats in busy])
        self._times.show_points([(s.token_ms - s.disk_ms, s.disk_ms) for s in busy])
        latest = busy[-1] if busy else None
        self._say("hits", figures.share(latest.hit_rate) if latest else figures.NONE)
        self._say("time", figures.milliseconds(latest.token_ms) if latest else figures.NONE)
        self._say("disk", figures.disk_rate(latest.bytes_per_s) if latest else figures.NONE)

    def _say(self, key: str, text: str) -> None:
        self._figures[key].setText(text)

    def _lay_out(self) -> QWidget:
        content = QWidget()
        column = QVBoxLayout(content)
        gap = 4 * theme.SPACE
        column.setContentsMargins(gap, gap + theme.SPACE, gap, gap)
        column.setSpacing(2 * theme.SPACE)
        memory_legend = Legend(
            list(
                zip(
                    (self.tr("core"), self.tr("experts"), self.tr("rest")),
                    _MEMORY_ROLES,
                    strict=True,
                )
            )
        )
        time_legend = Legend(
            list(zip((self.tr("computing"), self.tr("waiting for disk")), _TIME_ROLES, strict=True))
        )
        self._add_section(column, "memory", self._memory, memory_legend)
        self._add_section(column, "hits", self._hits)
        self._add_section(column, "time", self._times, time_legend)
        self._add_heading(column, "disk", self.tr("Read from disk"))
        column.addStretch(1)
        return content

    def _add_section(
        self, column: QVBoxLayout, key: str, plot: Plot, legend: Legend | None = None
    ) -> None:
        self._add_heading(column, key, plot.accessibleName())
        column.addWidget(plot)
        if legend is not None:
            column.addWidget(legend)
        column.addSpacing(2 * theme.SPACE)

    def _add_heading(self, column: QVBoxLayout, key: str, name: str) -> None:
        heavy = QFont.Weight.DemiBold
        row = QHBoxLayout()
        row.addWidget(Label(name, role=Role.SECONDARY, size=theme.CAPTION, weight=heavy))
        row.addStretch(1)
        figure = Label(size=theme.CAPTION, weight=heavy, tabular=True)
        row.addWidget(figure)
        column.addLayout(row)
        self._figures[key] = figure


def memory_parts(state: EngineState, used: int) -> tuple[int, int, int]:
    """`used` bytes cut into dense core, expert pool and all the rest; the plan says how."""
    if state.plan is None:
        return 0, 0, used
    core = min(state.plan.core_bytes, used)
    experts = min(state.plan.expert_bytes, used - core)
    return core, experts, used - core - experts
