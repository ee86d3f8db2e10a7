"""What typesetting gives: the inks of code and the drawings of formulas. Only data."""

from dataclasses import dataclass
from enum import IntEnum


class Ink(IntEnum):
    """What a word of code is. The numbers travel between processes."""

    KEYWORD = 1
    NAME = 2  # functions, classes: what the code is about
    STRING = 3
    NUMBER = 4
    COMMENT = 5
    BUILTIN = 6
    ADDED = 7  # lines of a diff
    REMOVED = 8


Span = tuple[int, int, int]  # start in its line, length, Ink; in UTF-16 code units, as Qt counts


@dataclass(frozen=True, slots=True)
class Formula:
    """A drawing; lengths are in units of the font size. `svg` is drawn in "currentColor"."""

    svg: str
    width: float
    ascent: float  # above the baseline
    descent: float  # below it
