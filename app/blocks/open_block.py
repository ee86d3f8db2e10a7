"""OpenBlock: the block that is being read, line by line. Decides nothing."""

import re

from app.blocks.block import Block, Kind
from app.blocks.line import HEADING, ITEM, spaces_before

_MAY_CLOSE = re.compile(r"^ *(?:```|~~~)", re.MULTILINE)


class OpenBlock:
    """Collects the lines of one block; `kind` is None between blocks."""

    def __init__(self, kind: Kind | None = None, indent: int = 0) -> None:
        self.kind = kind
        self.indent = indent
        self.language = ""
        self.opener = (
            ""  # math: what stood before the formula, for when it was none; table: its head
        )
        self.closer = ""  # code: the fence; math: the bracket
        self.strip = 0  # code: spaces before the fence, taken off every line
        self.size = 0  # characters
        self._lines: list[str] = []
        self._part = 0  # prose: where the last paragraph, heading or list item begins

    def add(self, line: str) -> None:
        """Go on with the last paragraph."""
        self._lines.append(line)
        self.size += len(line)

    def add_part(self, line: str) -> None:
        """Begin another paragraph."""
        self._part = len(self._lines)
        self.add(line)

    @property
    def line_count(self) -> int:
        return len(self._lines)

    def text(self) -> str:
        return "".join(self._lines)

    def ends_with_item(self) -> bool:
        """Whether the last paragraph is an item of a list."""
        return bool(self._lines) and bool(ITEM.match(self._lines[self._part]))

    def ends_with_heading(self) -> bool:
        return bool(self._lines) and bool(HEADING.match(self._lines[-1]))

    def stripped(self, line: str) -> str:
        """A line of code without the spaces that its fence stood behind."""
        return line[min(self.strip, spaces_before(line)) :]

    def closed_by(self, line: str) -> bool:
        """Whether a line is the fence that ends this code."""
        bare = line.strip()
        return len(bare) >= len(self.closer) and not bare.strip(self.closer[0])

    def may_be_closed_by(self, line: str) -> bool:
        """Whether an unfinished line may become that fence."""
        return not line.strip().strip(self.closer[0])

    def code_until(self, text: str, at: int) -> int:
        """Up to where whole lines of a text, from `at` on, are surely inside this code.

        Much code comes at once when a conversation is opened; this spares looking at each line.
        """
        if self.strip:
            return at
        fence = _MAY_CLOSE.search(text, at)
        return text.rfind("\n", at, fence.start() if fence else len(text)) + 1

    def block(self, *, closed: bool, more: str = "") -> Block | None:
        """What was read, and `more` after it; None where there is nothing to show."""
        text = self.text() + more
        if self.kind is Kind.CODE:
            return Block(Kind.CODE, text.removesuffix("\n"), self.language, self.indent, closed)
        if not text.strip():
            return None
        return Block(self.kind or Kind.PROSE, text, "", self.indent, closed)
