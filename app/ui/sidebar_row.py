"""One row of the sidebar: painted, reused for whatever scrolls into its place."""

from collections.abc import Iterator, Sequence

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QPainter,
    QPaintEvent,
    QPen,
    QTextCharFormat,
    QTextLayout,
)
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.ui import theme
from app.ui.sidebar_rows import ChatRow, Row, SectionRow
from app.ui.theme import SPACE, Role, color

INSET = 2 * SPACE  # of the text from the row's edges


def row_heights(rows: Sequence[Row]) -> Iterator[int]:
    """Pixels that each row takes; they grow with the system's font."""
    line = QFontMetrics(theme.font()).height() + 4 * SPACE
    two_lines = line + QFontMetrics(theme.font(theme.CAPTION)).height()
    for row in rows:
        yield two_lines if isinstance(row, ChatRow) and row.excerpt else line


class SidebarRow(QAbstractButton):
    """Shows a Row. A button, so that assistive tools can name and press it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the list has it
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.row: Row | None = None
        self.is_selected = False
        self.is_active = False
        self.is_target = False

    def show_row(self, row: Row, *, selected: bool, active: bool, target: bool) -> None:
        """`active`: an answer is running or waiting; `target`: something is dragged over it."""
        shown = (row, selected, active, target)
        if shown == (self.row, self.is_selected, self.is_active, self.is_target):
            return
        self.row, self.is_selected, self.is_active, self.is_target = shown
        self.setAccessibleName(self._spoken(row))
        self.setToolTip(row.title if self._is_cut(row) else "")
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if isinstance(self.row, SectionRow):
            self._paint_section(painter, self.row)
        elif self.row is not None:
            self._paint_chat(painter, self.row)

    def _paint_section(self, painter: QPainter, row: SectionRow) -> None:
        if self.is_target:
            self._paint_ground(painter, color(Role.BUBBLE))
        area = self.rect().adjusted(INSET, SPACE, -INSET, 0)
        if row.is_folder:
            side = 3 * SPACE
            spot = QRectF(area.left() - 1, area.center().y() - side / 2 + 1, side, side)
            chevron = "chevron-right" if row.is_folded else "chevron-down"
            theme.paint_icon(painter, spot, chevron, color(Role.TERTIARY))
            area.setLeft(area.left() + side + SPACE)
        font = theme.font(theme.CAPTION, weight=QFont.Weight.DemiBold)
        _write(painter, area, row.title, font, color(Role.TERTIARY))

    def _paint_chat(self, painter: QPainter, row: ChatRow) -> None:
        if self.is_selected:
            self._paint_ground(painter, color(Role.SELECTED))
        elif self.underMouse():
            self._paint_ground(painter, color(Role.HOVER))
        area = self.rect().adjusted(INSET, 0, -INSET, 0)
        if row.excerpt:
            area.setHeight(QFontMetrics(theme.font()).height() + 3 * SPACE)
            self._paint_excerpt(painter, row, area)
        area.setRight(area.right() - self._paint_detail(painter, row, area))
        _write(painter, area, row.title, theme.font(), color(Role.TEXT))

    def _paint_detail(self, painter: QPainter, row: ChatRow, area: QRect) -> int:
        """Paint what stands at the right; the width that it takes."""
        if self.is_active:
            return self._paint_dots(painter, area)
        if row.is_pinned:
            side = 3.5 * SPACE
            spot = QRectF(area.right() - side, area.center().y() - side / 2, side, side)
            theme.paint_icon(painter, spot, "pin", color(Role.TERTIARY))
            return 5 * SPACE
        font = theme.font(theme.CAPTION, tabular=True)
        _write(painter, area, row.detail, font, color(Role.TERTIARY), Qt.AlignmentFlag.AlignRight)
        return QFontMetrics(font).horizontalAdvance(row.detail) + 2 * SPACE

    def _paint_dots(self, painter: QPainter, area: QRect) -> int:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color(Role.TERTIARY))
        for place in range(3):
            centre = QPointF(area.right() - 3 - place * 2.5 * SPACE, area.center().y() + 0.5)
            painter.drawEllipse(centre, 3, 3)
        return 8 * SPACE

    def _paint_excerpt(self, painter: QPainter, row: ChatRow, title: QRect) -> None:
        """The second line, its marks in text colour, the rest quieter."""
        layout = QTextLayout(row.excerpt, theme.font(theme.CAPTION))
        marked = QTextCharFormat()
        marked.setForeground(color(Role.TEXT))
        marked.setFontWeight(QFont.Weight.DemiBold)
        layout.setFormats([_range(row.excerpt, *mark, marked) for mark in row.marks])
        layout.beginLayout()
        line = layout.createLine()
        line.setNumColumns(len(row.excerpt))
        layout.endLayout()
        painter.save()
        painter.setClipRect(self.rect().adjusted(INSET, 0, -INSET, 0))
        painter.setPen(color(Role.SECONDARY))
        layout.draw(painter, QPointF(title.left(), title.bottom() - SPACE))
        painter.restore()

    def _paint_ground(self, painter: QPainter, ground: QColor) -> None:
        painter.setPen(QPen(Qt.PenStyle.NoPen))
        painter.setBrush(ground)
        area = QRectF(self.rect()).adjusted(0, 1, 0, -1)
        painter.drawRoundedRect(area, theme.RADIUS_CONTROL, theme.RADIUS_CONTROL)

    def _is_cut(self, row: Row) -> bool:
        width = QFontMetrics(theme.font()).horizontalAdvance(row.title)
        return width > self.width() - 2 * INSET - 10 * SPACE

    def _spoken(self, row: Row) -> str:
        if isinstance(row, SectionRow):
            return row.title
        parts = [row.title, row.excerpt or row.detail]
        if row.is_pinned:
            parts.append(self.tr("pinned"))
        if self.is_active:
            parts.append(self.tr("an answer is being written"))
        return ", ".join(part for part in parts if part)


def _write(
    painter: QPainter,
    area: QRect,
    text: str,
    font: QFont,
    ink: QColor,
    side: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
) -> None:
    """One line, cut with an ellipsis where it does not fit."""
    painter.setFont(font)
    painter.setPen(ink)
    shown = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, area.width())
    painter.drawText(area, side | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, shown)


def _range(text: str, start: int, length: int, style: QTextCharFormat) -> QTextLayout.FormatRange:
    """Qt counts UTF-16 units where Python counts characters."""
    found = QTextLayout.FormatRange()
    found.start = _units(text[:start])
    found.length = _units(text[start : start + length])
    found.format = style
    return found


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
