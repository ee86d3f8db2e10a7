"""What a stream of text must hold back: an end that may turn out to begin a mark."""

from collections.abc import Iterable


def held_length(text: str, marks: Iterable[str]) -> int:
    """Length of the longest end of `text` that is the beginning, but not the whole, of a mark."""
    return max((_overlap(text, mark) for mark in marks), default=0)


def _overlap(text: str, mark: str) -> int:
    for length in range(min(len(text), len(mark) - 1), 0, -1):
        if text.endswith(mark[:length]):
            return length
    return 0
