"""Block: one piece of an answer that is drawn by one widget. Knows nothing about how."""

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """How a block is drawn."""

    PROSE = "prose"
    CODE = "code"
    TABLE = "table"
    MATH = "math"


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of an answer.

    `text` is Markdown for prose and tables, the code itself for code, LaTeX without its delimiters
    for math. A block that is not `closed` may still change; it is always the last one.
    """

    kind: Kind
    text: str
    language: str = ""  # of code, as the fence names it
    indent: int = 0  # how many list levels it hangs in
    closed: bool = True
