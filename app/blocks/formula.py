"""LaTeX made into a drawing, by ziamath. Slow (10 to 60 ms a formula): not for the UI thread."""

import re

from ziamath.config import config
from ziamath.zmath import Latex

from app.blocks.drawing import Formula

SIZE = 100.0  # font size of the drawings; they are scaled to the text around them
LONGEST = 4000  # characters of LaTeX

_VIEW_BOX = re.compile(r'viewBox="([-\d.]+) ([-\d.]+) ([-\d.]+) ([-\d.]+)"')
_UNKNOWN_COMMAND = re.compile(r"\\[A-Za-z]")
_WITHOUT_GLYPH = frozenset(" \t\n\u00a0\u2061\u2062\u2063\u2064")  # spaces, invisible operators

config.svg2 = False  # Qt draws nothing of SVG 2's reused glyphs
config.precision = 2


def typeset(latex: str, *, display: bool) -> Formula | None:
    """The drawing of a formula; None where it cannot be drawn right.

    Raises whatever ziamath stumbles over: no type of exception says "this is bad LaTeX".
    """
    if not latex or len(latex) > LONGEST:
        return None
    drawing = Latex(latex, size=SIZE, color="currentColor", inline=not display, margin=4)
    return _formula(drawing.svg()) if _has_all_glyphs(drawing) else None


def _has_all_glyphs(drawing: Latex) -> bool:
    """Whether it knows every command, and its font every letter."""
    text = "\n".join(drawing.mathml.itertext())
    if _UNKNOWN_COMMAND.search(text):
        return False
    return all(drawing.font.glyphindex(c) for c in set(text) - _WITHOUT_GLYPH)


def _formula(svg: str) -> Formula | None:
    box = _VIEW_BOX.search(svg)
    if box is None:
        return None
    _, top, width, height = (float(side) / SIZE for side in box.groups())
    return Formula(svg, width, -top, top + height)
