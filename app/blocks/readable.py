"""What of a text is read on the screen, and where words stand in it. Free functions.

Markdown is searched without what it hides: the targets of links, and the lines that open and close
code.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

_HIDDEN = re.compile(r"(?<=\])\([^()\s]*(?: \"[^\"\n]*\")?\)|^[ \t>]*(?:`{3,}|~{3,})[^\n]*$", re.M)


def readable(markdown: str) -> str:
    """The text without what is not shown."""
    return _HIDDEN.sub("", markdown)


def places_of(words: str, text: str) -> Iterator[tuple[int, int]]:
    """Start and end of every place where `words` stand, in letters of either case."""
    if words:
        yield from (found.span() for found in _pattern(words).finditer(text))


def count_of(words: str, text: str) -> int:
    """In how many places `words` stand."""
    return sum(1 for _ in places_of(words, text))


@lru_cache(maxsize=4)
def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(re.escape(words), re.IGNORECASE)
