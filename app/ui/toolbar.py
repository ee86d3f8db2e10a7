"""The toolbar: sidebar and new conversation at the left, then the model, then what belongs to this
conversation. One row, unified with the title bar on a Mac.
"""

import sys

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QAction, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolBar, QToolButton, QWidget

from app.ui import theme
from app.ui.model_button import ModelButton
from app.ui.theme import SPACE, Role, color

ICON = 5 * SPACE


class ActionButton(QToolButton):
    """An icon that triggers an action of the menus; it can wear a dot.

    It is not the action's own tool button, which would show the action's words and a pressed
    ground while it is checked: here the icon takes the accent.
    """

    def __init__(self, action: QAction, icon: str, name: str) -> None:
        super().__init__()
        self._action = action
        self._icon = icon
        self._has_dot = False
        self.setIconSize(QSize(ICON, ICON))
        self.setAutoRaise(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(name)
        self.setToolTip(_tip(name, action))
        self.clicked.connect(action.trigger)
        action.changed.connect(self._follow)
        self._follow()

    def set_dot(self, on: bool) -> None:
        """Wear the dot, or take it off."""
        self._has_dot = on
        self.update()

    def _follow(self) -> None:
        self.setEnabled(self._action.isEnabled())
        self.setIcon(theme.icon(self._icon, Role.LINK if self._is_on() else Role.SECONDARY))

    def _is_on(self) -> bool:
        return self._action.isChecked() and self._icon == "inspector"

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._has_dot:
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color(Role.ACCENT))
            painter.drawEllipse(QRectF(self.width() - 10, 4, 6, 6))


class Toolbar(QToolBar):
    """Buttons for actions that the menus have, too; and the model's button."""

    def __init__(self, actions: dict[str, QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("toolbar")
        self.setWindowTitle(self.tr("Toolbar"))
        self.setMovable(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self._sidebar_width = 0
        self.model = ModelButton()
        self.sidebar = ActionButton(actions["toggle_sidebar"], "sidebar", self.tr("Sidebar"))
        self.compose = ActionButton(actions["new_chat"], "compose", self.tr("New Chat"))
        self.settings = ActionButton(
            actions["chat_settings"], "settings", self.tr("Conversation settings")
        )
        self.share = ActionButton(
            actions["export_markdown"], "share", self.tr("Export this conversation")
        )
        self.inspector = ActionButton(
            actions["toggle_inspector"], "inspector", self.tr("Inspector")
        )
        self._left = QWidget()
        self.addWidget(self._lay_out())

    def follow_sidebar(self, width: int) -> None:
        """Stand in line with a sidebar of this width; 0: it is hidden."""
        self._sidebar_width = width
        if width:
            self._left.setFixedWidth(max(width - 2, self._left.minimumSizeHint().width()))
        else:
            self._left.setMinimumWidth(0)
            self._left.setMaximumWidth(self._left.sizeHint().width())
        self.update()

    def _lay_out(self) -> QWidget:
        row = QWidget()
        line = QHBoxLayout(row)
        line.setContentsMargins(0, SPACE, 3 * SPACE, SPACE)
        line.setSpacing(SPACE)
        left = QHBoxLayout(self._left)
        left.setContentsMargins(3 * SPACE, 0, 2 * SPACE, 0)
        left.addStretch(1)
        left.addWidget(self.sidebar)
        left.addWidget(self.compose)
        line.addWidget(self._left)
        line.addSpacing(3 * SPACE)
        line.addWidget(self.model)
        line.addStretch(1)
        for button in (self.settings, self.share, self.inspector):
            line.addWidget(button)
        row.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        return row

    def paintEvent(self, event: QPaintEvent) -> None:
        if sys.platform == "darwin":
            super().paintEvent(event)  # one surface with the title bar
            return
        painter = QPainter(self)
        painter.fillRect(self.rect(), color(Role.BASE))
        if self._sidebar_width:
            painter.fillRect(0, 0, self._sidebar_width, self.height(), color(Role.SIDEBAR))
            painter.fillRect(self._sidebar_width, 0, 1, self.height(), color(Role.LINE))
        painter.fillRect(0, self.height() - 1, self.width(), 1, color(Role.LINE))


def _tip(name: str, action: QAction) -> str:
    keys = action.shortcut().toString(action.shortcut().SequenceFormat.NativeText)
    return f"{name} ({keys})" if keys else name
