"""What one line of Markdown may begin. Free functions on text; no state.

Source: CommonMark 0.31 (fences, headings, list items), GitHub's tables, LaTeX's display brackets.
"""

import re

FENCE = re.compile(r"^( *)(`{3,}|~{3,})([^`]*)$")
HEADING = re.compile(r"^#{1,6}(\s|$)")
RULE = re.compile(r"^ {0,3}([-*_])( *\1){2,} *$")
ITEM = re.compile(r"^( *)([-*+]|\d{1,9}[.)])( +|$)")
DISPLAY = re.compile(r"^( *)(\$\$|\\\[|\\begin\{(?:equation|align|gather|multline)\*?\})")

_DELIMITER_ROW = re.compile(r"^ *\|? *:?-+:? *(\| *:?-+:? *)*\|? *$")
_DELIMITER_START = re.compile(r"^[ |:-]*$")
_MARKUP = ("$$", "\\[", "```", "~~~", "|", "\\begin{")


def spaces_before(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def is_delimiter_row(head: str, line: str) -> bool:
    """Whether `line` makes `head` the head of a table."""
    return bool(_DELIMITER_ROW.match(line.rstrip())) and _pipes(head) == _pipes(line)


def may_be_delimiter_row(line: str) -> bool:
    """Whether an unfinished line may become one."""
    return bool(_DELIMITER_START.match(line))


def may_be_markup(line: str) -> bool:
    """Whether an unfinished line may become a fence, a table's row or a formula's bracket."""
    line = line.lstrip(" ")
    return bool(line) and (line.startswith(_MARKUP) or any(m.startswith(line) for m in _MARKUP))


def display_closer(opener: str) -> str:
    """What ends a displayed formula."""
    if opener.startswith("\\begin"):
        return opener.replace("begin", "end")
    return "\\]" if opener == "\\[" else opener


def _pipes(row: str) -> int:
    return row.strip().strip("|").replace("\\|", "").count("|")
