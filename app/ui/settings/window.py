"""SettingsWindow: pages behind icons in a toolbar. A window, not a sheet; changes act at once."""

from collections.abc import Sequence

from PySide6.QtCore import QSettings, QSize, Qt
from PySide6.QtGui import QAction, QActionGroup, QCloseEvent
from PySide6.QtWidgets import QMainWindow, QStackedWidget, QToolBar, QWidget

from app.ui import theme
from app.ui.settings.page import SettingsPage
from app.ui.state_values import integer
from app.ui.theme import SPACE, Role

_PAGE_KEY = "settings/page"


class SettingsWindow(QMainWindow):
    """Shows one page at a time, and remembers which."""

    def __init__(
        self, pages: Sequence[SettingsPage], state: QSettings, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._state = state
        self._pages = pages
        self._stack = QStackedWidget()
        self._actions: list[QAction] = []
        self.setUnifiedTitleAndToolBarOnMac(True)
        self.setCentralWidget(self._stack)
        self._add_toolbar()
        self.show_page(integer(state.value(_PAGE_KEY), 0))

    def show_page(self, place: int) -> None:
        """Show the page at this place; the window takes its name and its size."""
        place = place if 0 <= place < len(self._pages) else 0
        self._stack.setCurrentIndex(place)
        self._actions[place].setChecked(True)
        self.setWindowTitle(self._pages[place].title)
        self._state.setValue(_PAGE_KEY, place)

    def _add_toolbar(self) -> None:
        bar = QToolBar(self.tr("Pages"), self)
        bar.setMovable(False)
        bar.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        bar.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
        bar.setIconSize(QSize(6 * SPACE, 6 * SPACE))
        self.addToolBar(bar)
        group = QActionGroup(self)
        for place, page in enumerate(self._pages):
            self._stack.addWidget(page)
            title = page.title.replace("&", "&&")  # or it would mark a mnemonic
            action = QAction(theme.icon(page.icon, Role.SECONDARY), title, group)
            action.setCheckable(True)
            action.setMenuRole(QAction.MenuRole.NoRole)
            action.triggered.connect(lambda _=False, place=place: self.show_page(place))
            bar.addAction(action)
            self._actions.append(action)

    def closeEvent(self, event: QCloseEvent) -> None:
        self._state.sync()
        super().closeEvent(event)
