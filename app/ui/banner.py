"""Banners: what a person should know or may take back, above the conversation, never in the way.

A banner is known by a key: showing another one under the same key replaces it. Orange needs the
person, red means something is lost; the rest is quiet.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QEvent, QRectF, QTimer, Signal
from PySide6.QtGui import QEnterEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.ui import theme
from app.ui.label import Label
from app.ui.theme import Role, color

Kind = Literal["info", "check", "trash", "warning", "error"]  # names of icons, too

_ROLES = {"warning": Role.WARNING, "error": Role.ERROR}


@dataclass(frozen=True, slots=True)
class BannerAction:
    """A button of a banner. Pressing it closes the banner, then runs `run`."""

    text: str
    run: Callable[[], object]


class Banner(QWidget):
    """One banner.

    Signals:
        closed: the person closed it, pressed one of its buttons, or its time was over.
    """

    closed = Signal()

    def __init__(
        self,
        kind: Kind,
        text: str,
        actions: Sequence[BannerAction],
        seconds: float | None,
        parent: QWidget | None = None,
        *,
        closable: bool = True,
    ) -> None:
        super().__init__(parent)
        self._kind = kind
        self.setAccessibleName(text)
        self._lifetime = QTimer(self)
        self._lifetime.setSingleShot(True)
        self._lifetime.timeout.connect(self.closed)
        if seconds is not None:
            self._lifetime.start(int(seconds * 1000))
        row = QHBoxLayout(self)
        row.setContentsMargins(11 * theme.SPACE, 2 * theme.SPACE, 2 * theme.SPACE, 2 * theme.SPACE)
        row.setSpacing(2 * theme.SPACE)
        self._add_words(row, text, actions)
        if closable:
            self._add_close(row)

    def _add_words(self, row: QHBoxLayout, text: str, actions: Sequence[BannerAction]) -> None:
        row.addWidget(Label(text, wrap=True), 1)
        for action in actions:
            button = QPushButton(action.text)
            button.setAutoDefault(False)
            button.clicked.connect(self.closed)
            button.clicked.connect(_without_arguments(action.run))
            row.addWidget(button)

    def _add_close(self, row: QHBoxLayout) -> None:
        close = QToolButton()
        close.setIcon(theme.icon("close"))
        close.setAutoRaise(True)
        close.setAccessibleName(self.tr("Close this notice"))
        close.setToolTip(self.tr("Close"))
        close.clicked.connect(self.closed)
        row.addWidget(close)

    def enterEvent(self, event: QEnterEvent) -> None:
        self._remaining_ms = self._lifetime.remainingTime()
        self._lifetime.stop()  # a banner does not vanish under the pointer
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        if self._remaining_ms > 0:
            self._lifetime.start(self._remaining_ms)
        super().leaveEvent(event)

    _remaining_ms = -1

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        card = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setPen(QPen(color(Role.LINE)))
        painter.setBrush(color(Role.CODE))
        painter.drawRoundedRect(card, theme.RADIUS_CARD, theme.RADIUS_CARD)
        side = 5 * theme.SPACE
        spot = QRectF(3.5 * theme.SPACE, (self.height() - side) / 2, side, side)
        theme.paint_icon(painter, spot, self._kind, color(_ROLES.get(self._kind, Role.SECONDARY)))


class BannerArea(QWidget):
    """The banners of a window, the latest one lowest; it takes no room while there are none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._banners: dict[str, Banner] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(4 * theme.SPACE, 2 * theme.SPACE, 4 * theme.SPACE, theme.SPACE)
        stack = QWidget()
        stack.setMaximumWidth(theme.COLUMN_WIDTH + 8 * theme.SPACE)
        row.addWidget(stack)
        self._column = QVBoxLayout(stack)
        self._column.setSpacing(2 * theme.SPACE)
        self._column.setContentsMargins(0, 0, 0, 0)
        self.hide()

    def show_banner(
        self,
        key: str,
        kind: Kind,
        text: str,
        actions: Sequence[BannerAction] = (),
        *,
        seconds: float | None = None,
        closable: bool = True,
    ) -> Banner:
        """Show a banner, in place of the one with the same key; `seconds`: until it goes.

        One that is not `closable` goes with what it tells of, or by its buttons.
        """
        self.hide_banner(key)
        banner = Banner(kind, text, actions, seconds, self, closable=closable)
        banner.closed.connect(lambda: self._remove(key, banner))
        self._banners[key] = banner
        self._column.addWidget(banner)
        self.show()
        return banner

    def hide_banner(self, key: str) -> None:
        """Take a banner away; nothing happens if there is none."""
        if banner := self._banners.get(key):
            self._remove(key, banner)

    def banner(self, key: str) -> Banner | None:
        """The banner shown under a key."""
        return self._banners.get(key)

    def _remove(self, key: str, banner: Banner) -> None:
        if self._banners.get(key) is not banner:
            return
        del self._banners[key]
        self._column.removeWidget(banner)
        banner.hide()
        banner.deleteLater()  # never at once: an assistive tool may be looking at it
        self.setVisible(bool(self._banners))


def _without_arguments(run: Callable[[], object]) -> Callable[[], None]:
    def pressed() -> None:
        run()

    return pressed
