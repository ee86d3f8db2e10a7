"""What stands beside the letters: list markers, bars of quotations, rules between paragraphs.

Qt would draw them in the manner of a text processor. So the document's own are taken away
(`take_over`), noted in the block's format, and painted here.
"""

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QPainter,
    QPen,
    QTextBlock,
    QTextBlockFormat,
    QTextDocument,
    QTextFormat,
    QTextListFormat,
)

from app.ui import theme
from app.ui.theme import Role

BULLET, OPEN_BOX, TICKED_BOX, RULE = "•", "☐", "☑", "—"

_MARKER = QTextFormat.Property.UserProperty + 10
_QUOTED = QTextFormat.Property.BlockQuoteLevel
_RULED = QTextFormat.Property.BlockTrailingHorizontalRulerWidth
_BULLETS = (
    QTextListFormat.Style.ListDisc,
    QTextListFormat.Style.ListCircle,
    QTextListFormat.Style.ListSquare,
)
_BOXES = {
    QTextBlockFormat.MarkerType.Unchecked: OPEN_BOX,
    QTextBlockFormat.MarkerType.Checked: TICKED_BOX,
}


def take_over(block: QTextBlock, form: QTextBlockFormat) -> None:
    """Note in a block's format what stands beside it, and keep Qt from drawing that."""
    if form.hasProperty(_RULED):
        form.clearProperty(_RULED)
        form.setProperty(_MARKER, RULE)
    items = block.textList()
    if items is None:
        return
    if form.marker() in _BOXES:
        form.setProperty(_MARKER, _BOXES[form.marker()])
        form.setMarker(QTextBlockFormat.MarkerType.NoMarker)
    else:
        is_bullet = items.format().style() in _BULLETS
        form.setProperty(_MARKER, BULLET if is_bullet else items.itemText(block))


def silence_lists(document: QTextDocument) -> None:
    """Let Qt draw no markers. After all blocks were taken over: they count their items."""
    block = document.begin()
    while block.isValid():
        items = block.textList()
        if items is not None and items.item(0) == block:
            form = items.format()
            form.setStyle(QTextListFormat.Style.ListStyleUndefined)
            items.setFormat(form)
        block = block.next()


def marker_of(block: QTextBlock) -> str:
    """What stands before an item of a list, or for a rule; "" elsewhere."""
    return str(block.blockFormat().property(_MARKER) or "")


def paint_ornaments(
    painter: QPainter, document: QTextDocument, visible: QRectF, step: int, role: Role
) -> None:
    """Paint what stands beside the visible text; the bars of quotations are `step` pixels apart."""
    layout = document.documentLayout()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setFont(document.defaultFont())
    block = document.begin()
    while block.isValid():
        form = block.blockFormat()
        marker, level = marker_of(block), form.intProperty(_QUOTED)
        if marker or level:
            goes_on = block.next().blockFormat().intProperty(_QUOTED) >= max(level, 1)
            below = form.bottomMargin() if goes_on else 0
            rect = layout.blockBoundingRect(block).adjusted(0, 0, 0, below)
            if rect.bottom() >= visible.top() and rect.top() <= visible.bottom():
                _paint_bars(painter, rect, level, step)
                _paint_beside(painter, block, rect, marker, role)
        block = block.next()


def _paint_bars(painter: QPainter, rect: QRectF, levels: int, step: int) -> None:
    for level in range(levels):
        bar = QRectF(level * step, rect.top(), 3, rect.height())
        painter.fillRect(bar, theme.color(Role.LINE))


def _paint_beside(
    painter: QPainter, block: QTextBlock, rect: QRectF, marker: str, role: Role
) -> None:
    if marker == RULE:
        y = round(rect.top() + painter.fontMetrics().height() / 2) + 0.5
        painter.setPen(QPen(theme.color(Role.LINE)))
        painter.drawLine(QPointF(rect.left(), y), QPointF(rect.right(), y))
    elif marker and block.layout().lineCount():
        _paint_marker(painter, _room_for_marker(painter, block, rect), marker, role)


def _room_for_marker(painter: QPainter, block: QTextBlock, rect: QRectF) -> QRectF:
    """The room before the first line, on the side where reading begins."""
    line = block.layout().lineAt(0)
    letters = line.naturalTextRect().translated(rect.topLeft())
    height = painter.fontMetrics().height()
    gap, width = height * 0.45, height * 1.5
    rightwards = block.textDirection() == Qt.LayoutDirection.RightToLeft
    x = letters.right() + gap if rightwards else letters.left() - gap - width
    top = rect.top() + line.y() + line.ascent() - painter.fontMetrics().ascent()
    return QRectF(x, top, width, height)


def _paint_marker(painter: QPainter, room: QRectF, marker: str, role: Role) -> None:
    ink = theme.color(role)
    height = room.height()
    if marker == BULLET:
        middle = QPointF(room.right() - height * 0.2, room.center().y() + height * 0.02)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color(Role.SECONDARY))
        painter.drawEllipse(middle, height * 0.135, height * 0.135)
    elif marker in (OPEN_BOX, TICKED_BOX):
        side = height * 0.72
        box = QRectF(room.right() - side, room.center().y() - side / 2, side, side)
        _paint_box(painter, box, ticked=marker == TICKED_BOX)
    else:
        painter.setPen(ink)
        metrics = painter.fontMetrics()
        start = room.right() - metrics.horizontalAdvance(marker)
        painter.drawText(QPointF(start, room.top() + metrics.ascent()), marker)


def _paint_box(painter: QPainter, box: QRectF, *, ticked: bool) -> None:
    radius = box.width() * 0.25
    painter.setPen(Qt.PenStyle.NoPen if ticked else QPen(theme.color(Role.TERTIARY), 1.2))
    painter.setBrush(theme.color(Role.ACCENT) if ticked else Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(box, radius, radius)
    if ticked:
        inside = box.adjusted(1, 1, -1, -1)
        theme.paint_icon(painter, inside, "check", theme.color(Role.ON_ACCENT))
