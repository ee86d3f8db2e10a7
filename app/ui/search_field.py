"""SearchField: a rounded line edit with a magnifying glass, quiet until it has the keyboard."""

from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QAction, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QLineEdit, QWidget

from app.ui import theme
from app.ui.theme import SPACE, Role, color


class SearchField(QLineEdit):
    """Has no frame of the style's: it paints one that fits beside rows."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setPlaceholderText(self.tr("Search"))
        self.setFrame(False)
        self._clear_ground()
        self.setClearButtonEnabled(True)
        self.findChildren(QAction)[0].setText(self.tr("Clear"))  # for assistive tools
        self.setTextMargins(SPACE, SPACE, SPACE, SPACE)
        glass = QAction(theme.icon("search", Role.TERTIARY), self.tr("Search"), self)
        glass.triggered.connect(self.selectAll)
        self.addAction(glass, QLineEdit.ActionPosition.LeadingPosition)

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.ApplicationPaletteChange:
            self._clear_ground()
        super().changeEvent(event)

    def _clear_ground(self) -> None:
        """The style would paint square corners."""
        palette = self.palette()
        palette.setColor(QPalette.ColorRole.Base, Qt.GlobalColor.transparent)
        self.setPalette(palette)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(color(Role.ACCENT), 2) if self.hasFocus() else QPen(color(Role.LINE)))
        painter.setBrush(color(Role.BASE))
        field = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        painter.drawRoundedRect(field, theme.RADIUS_CONTROL, theme.RADIUS_CONTROL)
        painter.end()
        super().paintEvent(event)
