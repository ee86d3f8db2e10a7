"""Cuts inline formulas out of Markdown before it is parsed, and says where they were.

Markdown would take the backslashes off `\\(` and read `_` and `*` in formulas as emphasis. So each
formula is replaced with one private-use character, which Markdown carries along like a letter, and
whoever draws the text puts the formula in its place. Code spans are left alone. A dollar opens a
formula only before, and closes it only after, something that is not a space, and not before a digit
(as in Pandoc), so that "$5 and $6" stays money.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FIRST, _LAST = 0xE000, 0xF8FF  # the private-use area of the basic plane
_LONGEST = 1000  # characters; a longer "formula" is prose between two stray brackets

_OPENER = re.compile(r"`+|\\[\\`$(\[]|\$\$?")
_CLOSERS = {"\\(": "\\)", "\\[": "\\]", "$$": "$$"}
_DOLLAR = re.compile(r"(?:[^$\\]|\\.)*\$", re.DOTALL)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


@dataclass(frozen=True, slots=True)
class MathSpan:
    """A formula that was cut out: LaTeX without its delimiters, and as it stood in the text."""

    latex: str
    source: str
    display: bool = False  # typeset large, as between "$$"


@dataclass(frozen=True, slots=True)
class CutText:
    """`text` holds one character for each formula; `spans` says which stands for which."""

    text: str
    spans: dict[str, MathSpan]

    def restored(self, text: str) -> str:
        """`text` with the formulas as they stood in the source."""
        return text.translate({ord(mark): span.source for mark, span in self.spans.items()})


def cut_math(markdown: str) -> CutText:
    """Cut the formulas out of a stretch of Markdown that holds no fenced code."""
    spans: dict[str, MathSpan] = {}
    pieces: list[str] = []
    end = 0
    marks = _unused_marks(markdown)
    for start, stop, span in _spans(markdown):
        mark = next(marks, None)
        if mark is None:
            break
        spans[mark] = span
        pieces += markdown[end:start], mark
        end = stop
    return CutText("".join(pieces) + markdown[end:], spans)


def _spans(markdown: str) -> Iterator[tuple[int, int, MathSpan]]:
    at = 0
    while found := _OPENER.search(markdown, at):
        opener, at = found[0], found.end()
        if opener[0] == "`":
            at = _after_code(markdown, at, opener)
        elif opener == "$" or opener in _CLOSERS:
            closer = _CLOSERS.get(opener, "$")
            stop = _closing_dollar(markdown, at) if opener == "$" else _find(markdown, at, closer)
            latex = markdown[at : max(stop, at)]
            if latex.strip() and not _BLANK_LINE.search(latex):
                at = stop + len(closer)
                source = markdown[found.start() : at]
                yield found.start(), at, MathSpan(latex.strip(), source, opener in ("$$", "\\["))


def _find(markdown: str, at: int, closer: str) -> int:
    return markdown.find(closer, at, at + _LONGEST)


def _closing_dollar(markdown: str, at: int) -> int:
    """Where the dollar stands that closes the one before `at`; -1 where none does."""
    found = _DOLLAR.match(markdown, at, at + _LONGEST)
    if not found:
        return -1
    inside, after = found[0][:-1], markdown[found.end() : found.end() + 1]
    closes = inside == inside.strip() and not after.isdigit() and after != "$"
    return found.end() - 1 if closes else -1


def _after_code(markdown: str, at: int, ticks: str) -> int:
    """Where the code span that begins before `at` ends; `at` if its paragraph ends first."""
    blank = _BLANK_LINE.search(markdown, at)
    end = blank.start() if blank else len(markdown)
    closing = re.compile(rf"(?<!`){ticks}(?!`)").search(markdown, at, end)
    return closing.end() if closing else at


def _unused_marks(markdown: str) -> Iterator[str]:
    used = set(markdown)
    return (chr(code) for code in range(_FIRST, _LAST + 1) if chr(code) not in used)
