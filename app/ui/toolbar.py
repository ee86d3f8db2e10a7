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


class DottedButton(QToolButton):
    """A tool button that can wear a dot: something differs from the settings."""

    has_dot = False

    def set_dot(self, on: bool) -> None:
        """Wear the dot, or take it off."""
        self.has_dot = on
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.has_dot:
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
        self.sidebar = self._button(actions["toggle_sidebar"], "sidebar", self.tr("Sidebar"))
        self.compose = self._button(actions["new_chat"], "compose", self.tr("New Chat"))
        self.settings = self._button(
            actions["chat_settings"], "settings", self.tr("Conversation settings")
        )
        self.share = self._button(
            actions["export_markdown"], "share", self.tr("Export this conversation")
        )
        self.inspector = self._button(
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

    def _button(self, action: QAction, icon: str, name: str) -> DottedButton:
        button = DottedButton()
        button.setDefaultAction(action)
        button.setIcon(theme.icon(icon))
        button.setIconSize(QSize(ICON, ICON))
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        button.setAutoRaise(True)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.setAccessibleName(name)
        button.setToolTip(_tip(name, action))
        return button

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
