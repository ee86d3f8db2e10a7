"""Page: what all parts of one transcript share: how text is set, and where links go.

The parts read it while they are built; when the size, the palette or the system's font changes,
the transcript builds its visible parts anew.
"""

import math

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QFontInfo, QFontMetrics, QFontMetricsF

from app.blocks.typesetter import Typesetter
from app.ui import theme
from app.ui.transcript.chores import Chores
from app.ui.transcript.code_ink import code_inks
from app.ui.transcript.formula_object import FormulaObject
from app.ui.transcript.text_ink import text_ink

LINE_SPACING = theme.LINE_HEIGHT - 0.06  # in heights of the font, which are more than its size
PARAGRAPH = 0.7  # between paragraphs, in sizes of the font
CODE_SPACING = 1.32  # height of a line of code, in that of its font

_OPENED_SCHEMES = ("http", "https", "mailto")


class Page(QObject):
    """Shared by the parts of a transcript.

    Signals:
        link_activated (QUrl): a person pressed a link that may be opened.
        link_hovered (str): where the link under the pointer leads; "" when it left.
    """

    link_activated = Signal(QUrl)
    link_hovered = Signal(str)

    def __init__(self, typesetter: Typesetter, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.typesetter = typesetter
        self.chores = Chores(self)
        self.formulas = FormulaObject()
        self.wraps_code = False  # as chosen last
        self.edits: dict[str, str] = {}  # words being changed, by message: never lost by a redraw
        self.set_scale(1.0)

    def set_scale(self, scale: float) -> None:
        """Let text be so many times as large; also after the system's font or colours changed."""
        self.scale = scale
        self.formulas.forget()
        self.reading_font = theme.font(theme.READING, scale=scale)
        self.code_font = theme.code_font(scale)
        # Of figures and actions; it grows with the text, but less.
        self.caption_font = theme.font(theme.CAPTION, scale=min(scale, math.sqrt(scale)))
        self.caption_line = QFontMetrics(self.caption_font).height()
        self.code_inks = code_inks()
        self.ink = text_ink(self.reading_font, self.code_font)
        self.em = QFontInfo(self.reading_font).pixelSize()
        spare = QFontMetricsF(self.reading_font).height() * (LINE_SPACING - 1)  # under a line
        self.paragraph_gap = round(self.em * PARAGRAPH + spare)
        self.code_line = round(QFontMetricsF(self.code_font).height() * CODE_SPACING)

    def px(self, steps: float) -> int:
        """Pixels of so many steps of the spacing, grown with the text, but less."""
        return round(theme.SPACE * steps * math.sqrt(max(1.0, self.scale)))

    def activate_link(self, target: str) -> None:
        """Open a link, if it is of a kind that is ever opened."""
        url = QUrl(target)
        if url.scheme().lower() in _OPENED_SCHEMES and url.isValid():
            self.link_activated.emit(url)
