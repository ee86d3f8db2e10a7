"""Formulas in running text: one object character each, which stands on the line's baseline.

The layout asks for an object's size many times, also while painting. So all that is known of a
formula at a size and in a colour is worked out once (`_Setting`) and found by its number.
"""

from dataclasses import dataclass

from PySide6.QtCore import QByteArray, QPointF, QRect, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontInfo,
    QFontMetricsF,
    QPainter,
    QPixmap,
    QPyTextObject,
    QTextCharFormat,
    QTextDocument,
    QTextFormat,
)
from PySide6.QtSvg import QSvgRenderer

from app.blocks.drawing import Formula
from app.blocks.math_span import MathSpan

OBJECT_CHARACTER = "\ufffc"
SIZE = 1.12  # the font's small letters are smaller than those of interface fonts

_TYPE = QTextFormat.ObjectTypes.UserObject + 1
_SOURCE = QTextFormat.Property.UserProperty + 1
_NUMBER = QTextFormat.Property.UserProperty + 2
_HANG = 1.9  # of the font's descent: what hangs lower needs a higher line


@dataclass(slots=True)
class _Setting:
    """A formula at a size and in a colour."""

    formula: Formula
    em: float  # px
    ink: QColor
    room: QSizeF
    above: float  # from the top of the room to the baseline
    pixmap: QPixmap | None = None


class FormulaObject(QPyTextObject):
    """Tells the layout how large formulas are, and paints them."""

    def __init__(self) -> None:
        super().__init__()
        self._settings: list[_Setting] = []
        self._forms: dict[tuple[MathSpan, int], QTextCharFormat] = {}

    def attach(self, document: QTextDocument) -> None:
        """Let a document show formulas."""
        document.documentLayout().registerHandler(_TYPE, self)

    def forget(self) -> None:
        """Sizes or colours changed; all documents are made anew."""
        self._settings.clear()
        self._forms.clear()

    def form(self, span: MathSpan, formula: Formula, font: QFont, ink: QColor) -> QTextCharFormat:
        """The format of a formula's object character."""
        key = (span, ink.rgba())
        if key not in self._forms:
            self._forms[key] = self._new_form(span, formula, font, ink)
        return self._forms[key]

    def _new_form(
        self, span: MathSpan, formula: Formula, font: QFont, ink: QColor
    ) -> QTextCharFormat:
        em = QFontInfo(font).pixelSize() * SIZE
        metrics = QFontMetricsF(font)
        form = QTextCharFormat()
        form.setFont(font)
        form.setObjectType(_TYPE)
        form.setProperty(_SOURCE, span.source)
        form.setProperty(_NUMBER, len(self._settings))
        if formula.descent * em <= metrics.descent() * _HANG:
            room, above = _standing(formula, em)
        else:
            form.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignMiddle)
            room, above = _centred(formula, em, round(metrics.xHeight()))
        self._settings.append(_Setting(formula, em, ink, room, above))
        return form

    def intrinsicSize(self, doc: QTextDocument, posInDocument: int, format: QTextFormat) -> QSizeF:  # noqa: N803
        return self._settings[format.intProperty(_NUMBER)].room

    def drawObject(
        self,
        painter: QPainter,
        rect: QRectF | QRect,
        doc: QTextDocument,
        posInDocument: int,  # noqa: N803
        format: QTextFormat,
    ) -> None:
        setting = self._settings[format.intProperty(_NUMBER)]
        ratio = painter.device().devicePixelRatio()
        if setting.pixmap is None or setting.pixmap.devicePixelRatio() != ratio:
            setting.pixmap = _drawn(setting, ratio)
        corner = QRectF(rect).topLeft()
        lift = setting.above - setting.formula.ascent * setting.em
        painter.drawPixmap(corner + QPointF(0, lift), setting.pixmap)


def source_of(form: QTextCharFormat) -> str:
    """The formula that an object character stands for, as it was written; "" if it is none."""
    return str(form.property(_SOURCE)) if form.objectType() == _TYPE else ""


def _standing(formula: Formula, em: float) -> tuple[QSizeF, float]:
    """Room above the baseline only: Qt lets objects stand on it, and painting may reach below."""
    return QSizeF(formula.width * em, formula.ascent * em), formula.ascent * em


def _centred(formula: Formula, em: float, x_height: int) -> tuple[QSizeF, float]:
    """Room that is right if Qt centres it on half the height of an "x"."""
    ascent, descent, shift = formula.ascent * em, formula.descent * em, x_height / 2
    height = max(2 * ascent - shift, 2 * descent + shift)
    return QSizeF(formula.width * em, height), (height + shift) / 2


def _drawn(setting: _Setting, ratio: float) -> QPixmap:
    formula, em = setting.formula, setting.em
    size = QSizeF(formula.width * em, (formula.ascent + formula.descent) * em)
    pixmap = QPixmap((size * ratio).toSize().expandedTo(QSizeF(1, 1).toSize()))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    svg = formula.svg.replace("currentColor", setting.ink.name())
    painter = QPainter(pixmap)
    QSvgRenderer(QByteArray(svg.encode())).render(painter, QRectF(QPointF(), size))
    painter.end()
    return pixmap
