"""Formulas in running text: one object character each, which stands on the line's baseline."""

from dataclasses import dataclass

from PySide6.QtCore import QByteArray, QPointF, QRect, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontInfo,
    QFontMetrics,
    QPainter,
    QPixmap,
    QPixmapCache,
    QPyTextObject,
    QTextCharFormat,
    QTextDocument,
    QTextFormat,
)
from PySide6.QtSvg import QSvgRenderer

from app.blocks.drawing import Formula
from app.blocks.math_span import MathSpan
from app.blocks.typesetter import Typesetter

OBJECT_CHARACTER = "\ufffc"
_HANG = 1.9
SIZE = 1.12  # the font's small letters are smaller than those of interface fonts

_TYPE = QTextFormat.ObjectTypes.UserObject + 1
_LATEX = QTextFormat.Property.UserProperty + 1
_SOURCE = QTextFormat.Property.UserProperty + 2
_DISPLAY = QTextFormat.Property.UserProperty + 3


def formula_format(
    span: MathSpan, formula: Formula, base: QTextCharFormat, font: QFont
) -> QTextCharFormat:
    """The format of a formula's object character, within text of format `base` in a font."""
    chosen = QTextCharFormat(base)
    chosen.setObjectType(_TYPE)
    chosen.setFont(
        font, QTextCharFormat.FontPropertiesInheritanceBehavior.FontPropertiesSpecifiedOnly
    )
    if not _fits_line(formula, font):
        chosen.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignMiddle)
    chosen.setProperty(_LATEX, span.latex)
    chosen.setProperty(_SOURCE, span.source)
    chosen.setProperty(_DISPLAY, span.display)
    return chosen


def source_of(chosen: QTextCharFormat) -> str:
    """The formula that an object character stands for, as it was written; "" if it is none."""
    return str(chosen.property(_SOURCE)) if chosen.objectType() == _TYPE else ""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a formula stands in the room that the layout gives it."""

    size: QSizeF
    above: float  # from the top of that room to the baseline


class FormulaObject(QPyTextObject):
    """Tells the layout how large formulas are, and paints them."""

    def __init__(self, typesetter: Typesetter) -> None:
        super().__init__()
        self._typesetter = typesetter

    def attach(self, document: QTextDocument) -> None:
        document.documentLayout().registerHandler(_TYPE, self)

    def intrinsicSize(self, doc: QTextDocument, posInDocument: int, format: QTextFormat) -> QSizeF:  # noqa: N803
        chosen = format.toCharFormat()
        formula = self._formula(chosen)
        return _place(formula, chosen).size if formula else QSizeF()

    def drawObject(
        self,
        painter: QPainter,
        rect: QRectF | QRect,
        doc: QTextDocument,
        posInDocument: int,  # noqa: N803
        format: QTextFormat,
    ) -> None:
        chosen = format.toCharFormat()
        if formula := self._formula(chosen):
            em = _em(chosen.font())
            baseline = QRectF(rect).top() + _place(formula, chosen).above
            where = QPointF(QRectF(rect).left(), baseline - formula.ascent * em)
            paint_formula(painter, where, formula, em, chosen.foreground().color())

    def _formula(self, chosen: QTextCharFormat) -> Formula | None:
        latex, display = str(chosen.property(_LATEX)), bool(chosen.property(_DISPLAY))
        return self._typesetter.formula(latex, display=display)


def _em(font: QFont) -> float:
    return QFontInfo(font).pixelSize() * SIZE


def _fits_line(formula: Formula, font: QFont) -> bool:
    """Whether a formula hangs no lower than the room between lines allows."""
    return formula.descent * _em(font) <= QFontMetrics(font).descent() * _HANG


def _place(formula: Formula, chosen: QTextCharFormat) -> _Place:
    """The room for a formula.

    Qt lets an object stand on the baseline, so that what hangs below is painted outside its room,
    or centres it on half the height of an "x": then the room is made so that this is right.
    """
    font = chosen.font()
    em = _em(font)
    ascent, descent = formula.ascent * em, formula.descent * em
    if chosen.verticalAlignment() != QTextCharFormat.VerticalAlignment.AlignMiddle:
        return _Place(QSizeF(formula.width * em, ascent), ascent)
    shift = QFontMetrics(font).xHeight() / 2
    height = max(2 * ascent - shift, 2 * descent + shift)
    return _Place(QSizeF(formula.width * em, height), (height + shift) / 2)


def paint_formula(
    painter: QPainter, where: QPointF, formula: Formula, em: float, ink: QColor
) -> None:
    """Paint a formula with its top left corner at a point; `em` is the font's size in pixels."""
    ratio = painter.device().devicePixelRatio()
    key = f"{hash(formula.svg)}:{em}:{ink.name()}:{ratio}"
    pixmap = QPixmap()
    if not QPixmapCache.find(key, pixmap):
        pixmap = _drawn(formula, em, ink, ratio)
        QPixmapCache.insert(key, pixmap)
    painter.drawPixmap(where, pixmap)


def _drawn(formula: Formula, em: float, ink: QColor, ratio: float) -> QPixmap:
    size = QSizeF(formula.width * em, (formula.ascent + formula.descent) * em)
    pixmap = QPixmap((size * ratio).toSize().expandedTo(QSizeF(1, 1).toSize()))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    svg = formula.svg.replace("currentColor", ink.name())
    painter = QPainter(pixmap)
    QSvgRenderer(QByteArray(svg.encode())).render(painter, QRectF(QPointF(), size))
    painter.end()
    return pixmap
