"""Pointer: the mouse over the transcript: selecting, links, scrolling while a drag is outside."""

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QGuiApplication, QMouseEvent
from PySide6.QtWidgets import QApplication, QScrollBar, QWidget

from app.ui.transcript.page import Page
from app.ui.transcript.selector import Selector
from app.ui.transcript.text import Text

_AUTOSCROLL_MS = 25
_APART = 5  # px; clicks farther apart are not counted together


class Pointer(QObject):
    """Handles the mouse events that the widgets of the transcript leave to it."""

    def __init__(self, page: Page, selector: Selector, viewport: QWidget, bar: QScrollBar) -> None:
        super().__init__(viewport)
        self._page = page
        self._selector = selector
        self._viewport = viewport
        self._bar = bar
        self._pressed: QPoint | None = None  # where the button went down
        self._at = QPoint()
        self._clicks = 0
        self._clicked: QPoint | None = None
        self._pause = QTimer(self)  # after it, a click begins to count anew
        self._pause.setSingleShot(True)
        self._pause.timeout.connect(self._forget_clicks)
        self._scrolling = QTimer(self)
        self._scrolling.setInterval(_AUTOSCROLL_MS)
        self._scrolling.timeout.connect(self._scroll)

    def handle(self, event: QMouseEvent) -> bool:
        """Whether an event of the viewport was ours."""
        point = event.position().toPoint()
        if event.type() == QEvent.Type.MouseMove:
            return self._move(point)
        if event.button() != Qt.MouseButton.LeftButton:
            return False
        if event.type() == QEvent.Type.MouseButtonRelease:
            return self._release(point)
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        return self._press(point, extend=shift)

    def _press(self, point: QPoint, *, extend: bool) -> bool:
        near = self._clicked is not None and (point - self._clicked).manhattanLength() <= _APART
        self._clicks = self._clicks % 3 + 1 if near and self._pause.isActive() else 1
        self._clicked = self._pressed = point
        self._pause.start(QGuiApplication.styleHints().mouseDoubleClickInterval())
        self._selector.press(point, self._clicks, extend=extend)
        return True

    def _move(self, point: QPoint) -> bool:
        if self._pressed is None:
            return False
        self._at = point
        far = (point - self._pressed).manhattanLength() >= QApplication.startDragDistance()
        if far or not self._selector.is_empty:
            self._selector.drag(point)
        outside = not 0 <= point.y() < self._viewport.height()
        if outside and not self._scrolling.isActive():
            self._scrolling.start()
        elif not outside:
            self._scrolling.stop()
        return True

    def _release(self, point: QPoint) -> bool:
        was_pressed, self._pressed = self._pressed is not None, None
        self._scrolling.stop()
        if was_pressed and self._selector.is_empty:
            self._follow_link(point)
        return was_pressed

    def _follow_link(self, point: QPoint) -> None:
        below = self._viewport.childAt(point)
        if isinstance(below, Text) and (
            link := below.link_at(below.mapFrom(self._viewport, point))
        ):
            self._page.activate_link(link)

    def _scroll(self) -> None:
        beyond = self._at.y() - min(max(self._at.y(), 0), self._viewport.height())
        self._bar.setValue(self._bar.value() + beyond // 2)
        self._selector.drag(self._at)

    def _forget_clicks(self) -> None:
        self._clicks = 0
