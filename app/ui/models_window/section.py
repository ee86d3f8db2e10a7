"""Section: a heading with rows below it, kept in step with a list; hidden while that is empty."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.ui import theme
from app.ui.label import Label
from app.ui.models_window.row import SIDE, ModelRow
from app.ui.theme import SPACE, Role

T = TypeVar("T")


class Section(QWidget):
    """Rows are kept by key, so that a change leaves the keyboard where it is."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: dict[str, ModelRow] = {}
        self._heading = Label(
            title, role=Role.SECONDARY, size=theme.CAPTION, weight=QFont.Weight.DemiBold
        )
        self._heading.setContentsMargins(SIDE, 4 * SPACE, SIDE, 0)
        self.setAccessibleName(title)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._column.addWidget(self._heading)
        self.hide()

    def show_items(
        self,
        items: Iterable[T],
        key: Callable[[T], str],
        fill: Callable[[ModelRow, T], object],
    ) -> None:
        """A row for each item, in this order."""
        wanted = {key(item): item for item in items}
        for gone in self._rows.keys() - wanted.keys():
            row = self._rows.pop(gone)
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        for place, (name, item) in enumerate(wanted.items(), start=1):
            row = self._rows.setdefault(name, ModelRow())
            if self._column.indexOf(row) != place:
                self._column.insertWidget(place, row)
            fill(row, item)
        self.setVisible(bool(wanted))

    def row(self, key: str) -> ModelRow:
        """The row of an item."""
        return self._rows[key]

    def order(self) -> list[str]:
        """Keys of the rows, from the top."""
        return sorted(self._rows, key=lambda key: self._column.indexOf(self._rows[key]))
