"""Panels: sidebar, middle and inspector side by side. The outer two slide in and out."""

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.ui import motion
from app.ui.hairline import Hairline, HairlineSplitter
from app.ui.inspector import WIDTH as INSPECTOR_WIDTH
from app.ui.theme import SPACE

SIDEBAR_WIDTH = 66 * SPACE  # at first
LEAST_SIDEBAR, MOST_SIDEBAR = 50 * SPACE, 110 * SPACE
LEAST_MIDDLE = 85 * SPACE


class Panels(QWidget):
    """Knows which panels are wanted; while one slides, it is as good as there.

    Signals: see the comment of each.
    """

    # a panel is shown or hidden now
    changed = Signal()
    # int: pixels that the sidebar takes; 0 when it is hidden
    sidebar_resized = Signal(int)

    def __init__(
        self,
        sidebar: QWidget,
        middle: QWidget,
        inspector: QWidget,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._sidebar = sidebar
        self._inspector = inspector
        self._line = Hairline()
        self._splitter = HairlineSplitter()
        self._width = SIDEBAR_WIDTH  # of the sidebar, when it is there
        self._slides: dict[QWidget, int] = {sidebar: 0, inspector: 0}  # number of the latest
        self.sidebar_shown = True
        self.inspector_shown = False
        middle.setMinimumWidth(LEAST_MIDDLE)
        self._lay_out(middle)
        self._splitter.splitterMoved.connect(self._on_dragged)
        self._settle_sidebar()
        self._settle_inspector()

    @property
    def sidebar_width(self) -> int:
        """Pixels that the sidebar takes, or will take when it is shown again."""
        return self._width

    def restore_sidebar_width(self, width: int) -> None:
        """As it was when the window was closed; 0: as at first."""
        self._width = min(max(width, LEAST_SIDEBAR), MOST_SIDEBAR) if width else SIDEBAR_WIDTH
        self._settle_sidebar()

    def show_sidebar(self, shown: bool, *, at_once: bool = False) -> None:
        """Slide the sidebar in or out."""
        if shown != self.sidebar_shown:
            self.sidebar_shown = shown
            end = self._width if shown else 0
            self._slide(self._sidebar, end, self._settle_sidebar, at_once)

    def show_inspector(self, shown: bool, *, at_once: bool = False) -> None:
        """Slide the inspector in or out."""
        if shown != self.inspector_shown:
            self.inspector_shown = shown
            end = INSPECTOR_WIDTH if shown else 0
            self._slide(self._inspector, end, self._settle_inspector, at_once)

    def align(self) -> None:
        """Tell how wide the sidebar is, for what stands above it."""
        self.sidebar_resized.emit(0 if self._sidebar.isHidden() else self._sidebar.width())

    def _slide(self, panel: QWidget, end: int, settle: Callable[[], None], at_once: bool) -> None:
        self._slides[panel] += 1
        number = self._slides[panel]
        start = 0 if panel.isHidden() else panel.width()

        def step(width: int) -> None:
            if number == self._slides[panel]:  # not overtaken by a later one
                panel.setFixedWidth(width)
                panel.show()
                self.align()

        def done() -> None:
            if number == self._slides[panel]:
                settle()
                self.changed.emit()

        if at_once:
            done()
        else:
            motion.slide(self, start, end, step, done)

    def _settle_sidebar(self) -> None:
        self._sidebar.setVisible(self.sidebar_shown)
        self._sidebar.setMinimumWidth(LEAST_SIDEBAR)
        self._sidebar.setMaximumWidth(MOST_SIDEBAR)
        self._splitter.setSizes([self._width, max(self.width() - self._width, LEAST_MIDDLE)])
        self.align()

    def _settle_inspector(self) -> None:
        self._inspector.setVisible(self.inspector_shown)
        self._inspector.setFixedWidth(INSPECTOR_WIDTH)
        self._line.setVisible(self.inspector_shown)

    def _on_dragged(self) -> None:
        self._width = self._sidebar.width()
        self.align()

    def _lay_out(self, middle: QWidget) -> None:
        self._splitter.addWidget(self._sidebar)
        self._splitter.addWidget(middle)
        self._splitter.setStretchFactor(1, 1)
        self._splitter.setChildrenCollapsible(False)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self._splitter, 1)
        row.addWidget(self._line)
        row.addWidget(self._inspector)
