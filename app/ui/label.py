"""Labels: a line or paragraph of text in a role's colour and a size of ours; follows the system."""

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QLabel, QWidget

from app.ui import theme
from app.ui.theme import Role


class Label(QLabel):
    """Plain text only: what a file or a model is called must never be taken for HTML."""

    def __init__(
        self,
        text: str = "",
        parent: QWidget | None = None,
        *,
        role: Role = Role.TEXT,
        size: float = theme.BODY,
        weight: QFont.Weight = QFont.Weight.Normal,
        tabular: bool = False,
        wrap: bool = False,
    ) -> None:
        super().__init__(text, parent)
        self._role = role
        self._style = (size, weight, tabular)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(wrap)
        self._restyle()

    def set_role(self, role: Role) -> None:
        """Show the text in another role's colour."""
        self._role = role
        self._restyle()

    def changeEvent(self, event: QEvent) -> None:
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.ApplicationFontChange):
            self._restyle()
        super().changeEvent(event)

    def _restyle(self) -> None:
        ink = theme.color(self._role)
        palette = self.palette()
        if palette.color(QPalette.ColorRole.WindowText) != ink:
            palette.setColor(QPalette.ColorRole.WindowText, ink)
            self.setPalette(palette)
        size, weight, tabular = self._style
        font = theme.font(size, weight=weight, tabular=tabular)
        if self.font() != font:
            self.setFont(font)


class ElidedLabel(Label):
    """One line that ends in an ellipsis where there is no room, and never asks for more."""

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        shown = self.fontMetrics().elidedText(
            self.text(), Qt.TextElideMode.ElideMiddle, self.width()
        )
        painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
        painter.drawText(
            self.rect(), Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, shown
        )
