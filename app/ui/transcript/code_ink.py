"""The colours of code in both schemes, moved until they can be read on a code block's ground."""

from PySide6.QtGui import QColor, QPalette, QTextCharFormat

from app.blocks.drawing import Ink
from app.ui import theme
from app.ui.color import readable
from app.ui.theme import Role

_LIGHT = {
    Ink.KEYWORD: "#a3309f",
    Ink.NAME: "#1f6fb2",
    Ink.STRING: "#c2261d",
    Ink.NUMBER: "#b5381f",
    Ink.COMMENT: "#6b7683",
    Ink.BUILTIN: "#3f6e74",
    Ink.ADDED: "#1d7a35",
    Ink.REMOVED: "#c2261d",
}
_DARK = {
    Ink.KEYWORD: "#ff7ab2",
    Ink.NAME: "#6bc0ff",
    Ink.STRING: "#ff8170",
    Ink.NUMBER: "#ffa14f",
    Ink.COMMENT: "#8b98a5",
    Ink.BUILTIN: "#9fd8c9",
    Ink.ADDED: "#67d37f",
    Ink.REMOVED: "#ff8170",
}


def code_inks() -> dict[int, QTextCharFormat]:
    """The formats of all inks, in the application's palette."""
    forms = {}
    for ink in Ink:
        forms[ink.value] = QTextCharFormat()
        forms[ink.value].setForeground(ink_color(ink))
    return forms


def ink_color(ink: Ink, palette: QPalette | None = None) -> QColor:
    """The colour of a word of code in a palette (the application's, unless given)."""
    named = (_DARK if theme.is_dark(palette) else _LIGHT)[ink]
    return readable(QColor(named), theme.color(Role.CODE, palette))
