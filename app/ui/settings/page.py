"""SettingsPage: a form on a page of the Settings window, and the small pieces that forms share."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QComboBox, QFormLayout, QLabel, QVBoxLayout, QWidget

from app.ui import theme
from app.ui.label import Label
from app.ui.theme import SPACE, Role

FIELD_WIDTH = 90 * SPACE

T = TypeVar("T")


class SettingsPage(QWidget):
    """A column with a form at its top. `title` names the window while the page is shown."""

    def __init__(self, title: str, icon: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = title
        self.icon = icon
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(8 * SPACE, 6 * SPACE, 8 * SPACE, 6 * SPACE)
        self.column.setSpacing(3 * SPACE)
        self.form = QFormLayout()
        self.form.setSpacing(3 * SPACE)
        self.form.setLabelAlignment(Qt.AlignmentFlag.AlignRight)
        self.form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.FieldsStayAtSizeHint)
        self.column.addLayout(self.form)

    def add_row(self, label: str, field: QWidget) -> None:
        """A field with its name before it, for the eye and for assistive tools."""
        name = QLabel(label)
        name.setBuddy(field)
        field.setAccessibleName(label.rstrip(":"))
        self.form.addRow(name, field)

    def add_note(self, text: str = "") -> Label:
        """A quiet explanation under a field."""
        note = quiet_note(text)
        self.form.addRow("", note)
        return note


def quiet_note(text: str) -> Label:
    """Small secondary text that wraps at the width of a field."""
    note = Label(text, role=Role.SECONDARY, size=theme.CAPTION, wrap=True)
    note.setFixedWidth(FIELD_WIDTH)
    return note


def choice(options: Sequence[tuple[str, T]], chosen: Callable[[T], object]) -> QComboBox:
    """A pop-up of named values; `chosen` hears what the person picks."""
    box = QComboBox()
    for text, value in options:
        box.addItem(text, value)
    box.activated.connect(lambda index: chosen(box.itemData(index)))
    return box


def pick(box: QComboBox, value: object) -> None:
    """Show a value of a `choice`; the first one if there is no such value."""
    index = next((i for i in range(box.count()) if box.itemData(i) == value), 0)
    box.setCurrentIndex(index)


def switch(text: str, switched: Callable[[bool], object]) -> QCheckBox:
    """A check box; `switched` hears what the person does."""
    box = QCheckBox(text)
    box.clicked.connect(switched)
    return box
