"""TextInk: the formats of code, links and headings in running text, at one size and palette."""

from dataclasses import dataclass

from PySide6.QtGui import QFont, QTextCharFormat

from app.ui import theme
from app.ui.theme import Role

HEADINGS = (1.45, 1.25, 1.1, 1.0, 1.0, 1.0)  # sizes, in that of running text


@dataclass(frozen=True, slots=True)
class TextInk:
    """Formats to be merged into those that a parser gave."""

    code: QTextCharFormat
    link: QTextCharFormat
    headings: tuple[QTextCharFormat, ...]


def text_ink(reading: QFont, code_font: QFont) -> TextInk:
    """The formats for text in these fonts, in the application's palette."""
    code = QTextCharFormat()
    code.setFontFamilies(code_font.families())
    code.setFontPointSize(code_font.pointSizeF())
    code.setBackground(theme.color(Role.HOVER))
    link = QTextCharFormat()
    link.setForeground(theme.color(Role.LINK))
    link.setFontUnderline(False)
    return TextInk(code, link, tuple(_heading(reading, size) for size in HEADINGS))


def _heading(reading: QFont, size: float) -> QTextCharFormat:
    heading = QTextCharFormat()
    heading.setFontPointSize(reading.pointSizeF() * size)
    heading.setFontWeight(QFont.Weight.DemiBold)
    return heading
