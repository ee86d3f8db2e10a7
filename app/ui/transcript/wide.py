"""Wide: a text in a place that may be too narrow for it; then it can be moved sideways."""

from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtWidgets import QWidget

from app.ui.transcript.side_scroll import SideScroll
from app.ui.transcript.text import Text


class Wide:
    """Puts a text into its parent; a scroll area is made when one is needed, as few texts do."""

    def __init__(self, text: Text, parent: QWidget) -> None:
        self._text = text
        self._parent = parent
        self._scroll: SideScroll | None = None
        self._size = QSize()
        self._room = QRect()

    def fit(self, left: int, top: int, width: int, natural: int, height: int) -> int:
        """Find room for the text, which is `natural` pixels wide; the height that this takes."""
        self._size = QSize(max(width, natural), height)
        if natural > width and self._scroll is None:
            self._scroll = SideScroll(self._text, self._parent)
            self._scroll.show()
        shown = self._scroll.height_for(natural, height, width) if self._scroll else height
        self._room = QRect(left, top, width, shown)
        return shown

    def settle(self) -> None:
        """Put the text there."""
        self._text.resize(self._size)
        if self._scroll is None:
            self._text.move(self._room.topLeft())
        else:
            self._scroll.setGeometry(self._room)

    def reveal(self, spot: QPoint) -> None:
        """Move a spot of the text into sight."""
        if self._scroll is not None:
            self._scroll.ensureVisible(spot.x(), spot.y(), self._scroll.width() // 3, 0)
