"""Commands of the View and Window menus: panels, text size, the window itself."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

from app.settings import TEXT_SIZES
from app.settings_store import SettingsStore

if TYPE_CHECKING:
    from app.ui.main_window import MainWindow


class ViewCommands:
    """How one window looks."""

    def __init__(self, window: "MainWindow", settings: SettingsStore) -> None:
        self._window = window
        self._settings = settings

    def available(self) -> Iterator[str]:
        """Names of the commands that make sense now."""
        yield from ("toggle_sidebar", "toggle_inspector", "toggle_full_screen", "usual_text")
        yield from ("minimize", "zoom")
        size = self._settings.settings.text_size
        if size < TEXT_SIZES[-1]:
            yield "bigger_text"
        if size > TEXT_SIZES[0]:
            yield "smaller_text"

    def checked(self) -> Iterator[str]:
        """Names of the commands whose state is on."""
        if self._window.panels.sidebar_shown:
            yield "toggle_sidebar"
        if self._window.panels.inspector_shown:
            yield "toggle_inspector"
        if self._window.isFullScreen():
            yield "toggle_full_screen"

    def toggle_sidebar(self) -> None:
        """Show or hide the sidebar."""
        self._window.panels.show_sidebar(not self._window.panels.sidebar_shown)

    def toggle_inspector(self) -> None:
        """Show or hide the inspector."""
        self._window.panels.show_inspector(not self._window.panels.inspector_shown)

    def bigger_text(self) -> None:
        """The next larger text in the transcript."""
        larger = [size for size in TEXT_SIZES if size > self._settings.settings.text_size]
        if larger:
            self._settings.update(text_size=larger[0])

    def smaller_text(self) -> None:
        """The next smaller text in the transcript."""
        smaller = [size for size in TEXT_SIZES if size < self._settings.settings.text_size]
        if smaller:
            self._settings.update(text_size=smaller[-1])

    def usual_text(self) -> None:
        """The usual size of text."""
        self._settings.update(text_size=100)

    def toggle_full_screen(self) -> None:
        """Fill the screen, or stop filling it."""
        self._window.setWindowState(self._window.windowState() ^ Qt.WindowState.WindowFullScreen)

    def minimize(self) -> None:
        """Into the Dock."""
        self._window.showMinimized()

    def zoom(self) -> None:
        """As large as the screen, or back."""
        self._window.setWindowState(self._window.windowState() ^ Qt.WindowState.WindowMaximized)
