"""What of a text is read on the screen, and where words stand in it. Free functions.

Markdown is searched without what it hides: the targets of links, and the lines that open and close
code. Thousands of messages are searched at every key, so all of it is left to fast operations.
"""

import re
from collections.abc import Iterator

_TARGET = re.compile(r"\]\([^()\s]*(?: \"[^\"\n]*\")?\)")
_FENCE = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})[^\n]*$", re.M)


def readable(markdown: str) -> str:
    """The text without what is not shown."""
    if "](" in markdown:
        markdown = _TARGET.sub("]", markdown)
    if "```" in markdown or "~~~" in markdown:
        markdown = _FENCE.sub("", markdown)
    return markdown


def places_of(words: str, text: str) -> Iterator[tuple[int, int]]:
    """Start and end of every place where `words` stand, in letters of either case."""
    small = text.lower()
    if len(small) != len(text):  # a letter that grows, such as İ: positions would shift
        found = re.finditer(re.escape(words), text, re.IGNORECASE)
        yield from (match.span() for match in found if words)
        return
    words = words.lower()
    at = -len(words)
    while words and (at := small.find(words, at + len(words))) >= 0:
        yield at, at + len(words)


def count_of(words: str, text: str) -> int:
    """In how many places `words` stand."""
    return text.lower().count(words.lower()) if words else 0


def count_readable(words: str, markdown: str) -> int:
    """The same in what is read of Markdown."""
    return count_of(words, readable(markdown)) if count_of(words, markdown) else 0
