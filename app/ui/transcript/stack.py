"""Stack: heights of things that lie on top of each other, and where each of them begins."""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate


class Stack:
    """A list of heights in pixels. Reading is fast after a change: one sum over what follows it."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = list(heights)
        self._tops: list[int] = [0]  # valid for the first len(_tops) items

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def __setitem__(self, index: int, height: int) -> None:
        if self._heights[index] != height:
            self._heights[index] = height
            del self._tops[index + 1 :]

    def replace(self, start: int, heights: Iterable[int]) -> None:
        """Let these heights follow the first `start` ones."""
        self._heights[start:] = heights
        del self._tops[start + 1 :]

    def top(self, index: int) -> int:
        """Where an item begins; of `len(self)`: where the last one ends."""
        if index >= len(self._tops):
            self._sum()
        return self._tops[index]

    @property
    def height(self) -> int:
        """The whole height."""
        return self.top(len(self._heights))

    def at(self, y: int) -> int:
        """The item at a height, or the nearest one. There must be one."""
        self._sum()
        return min(max(bisect_right(self._tops, y) - 1, 0), len(self._heights) - 1)

    def between(self, top: int, bottom: int) -> range:
        """The items that have a part between two heights."""
        if not self._heights or bottom <= 0 or top >= self.height:
            return range(0)
        return range(self.at(top), self.at(max(top, bottom - 1)) + 1)

    def _sum(self) -> None:
        known = len(self._tops)
        if known <= len(self._heights):
            rest = accumulate(self._heights[known - 1 :], initial=self._tops[-1])
            self._tops[known - 1 :] = rest
