"""BlockReader: cuts a growing Markdown text into blocks.

Fed in any pieces, it gives the blocks that the whole text gives, and looks at each line once. All
blocks but the last are final. A line that may yet turn out to be a fence, a table's head or a
formula's bracket is held back until that is decided, so that nothing appears as one thing and
becomes another.
"""

import re

from app.blocks.block import Block, Kind
from app.blocks.line import (
    DISPLAY,
    FENCE,
    HEADING,
    ITEM,
    RULE,
    display_closer,
    is_delimiter_row,
    may_be_delimiter_row,
    may_be_markup,
)
from app.blocks.open_block import OpenBlock

PROSE_LIMIT = 600  # characters; after that the next paragraph begins another block
LINE_LIMIT = 4000  # characters; a longer line of prose is cut at a space
TABLE_LIMIT = 60  # rows in one block: a table is laid out as a whole
MATH_LIMIT = 4000  # characters; what has no closing bracket by then is no formula

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_AFTER_DISPLAY = re.compile(r"^[\s.,;:]*$")


class BlockReader:
    """Reads Markdown piece by piece: `feed` it, look at `blocks`, `finish` at the end."""

    def __init__(self) -> None:
        self._done: list[Block] = []
        self._open = OpenBlock()
        self._rest = ""  # the line that has not ended
        self._held = ""  # a line with a pipe: a table's head, if a delimiter row follows
        self._blank = True  # whether a paragraph may begin here
        self._item_indent = 0  # where the text of the open list item begins; 0: no list
        self._cut_indent = 0  # the same, once a block was cut out of that item
        self._number = 0  # of the open list item, where the list is numbered

    def feed(self, text: str) -> None:
        """Read on."""
        text, at = self._rest + text, 0
        while (end := text.find("\n", at)) >= 0:
            if self._open.kind is Kind.CODE and (inside := self._open.code_until(text, at)) > at:
                self._open.add(text[at:inside])
                at = inside
            else:
                self._line(self._without_long_start(text[at:end]) + "\n")
                at = end + 1
        self._rest = self._without_long_start(text[at:])

    def finish(self) -> None:
        """There is no more: whatever was held back is what it looks like."""
        if self._rest:
            line, self._rest = self._rest, ""
            self._line(line)
        self._release()
        if self._open.kind is Kind.MATH:
            self._math_was_prose()
        self._close()

    @property
    def settled(self) -> int:
        """How many of `blocks` are final."""
        return len(self._done)

    @property
    def blocks(self) -> list[Block]:
        """The blocks so far; one that is still open is the last."""
        tail = self.tail()
        return [*self._done, tail] if tail else list(self._done)

    def tail(self) -> Block | None:
        """The block that is still open, or None between blocks."""
        return self._open.block(closed=False, more=self._shown())

    def _shown(self) -> str:
        """As much of what is undecided as cannot turn out to be markup."""
        kind, line = self._open.kind, self._rest
        if kind is Kind.CODE:
            return "" if self._open.may_be_closed_by(line) else self._open.stripped(line)
        if kind in (Kind.TABLE, Kind.MATH) or self._held.lstrip().startswith("|"):
            return ""
        hidden = may_be_delimiter_row(line) if self._held else may_be_markup(line)
        return self._held + ("" if hidden else line)

    def _without_long_start(self, line: str) -> str:
        """The end of a line of prose, after whole stretches of LINE_LIMIT were read."""
        while len(line) > LINE_LIMIT and self._open.kind in (None, Kind.PROSE):
            cut = line.rfind(" ", LINE_LIMIT // 2, LINE_LIMIT) + 1 or LINE_LIMIT
            self._line(line[:cut])
            line = line[cut:]
        return line

    def _line(self, line: str) -> None:
        if self._open.kind is Kind.CODE:
            self._code_line(line)
        elif self._open.kind is Kind.MATH:
            self._math_line(line)
        elif self._open.kind is Kind.TABLE and "|" in line:
            self._table_row(line)
        elif self._held and is_delimiter_row(self._held, line):
            head, self._held = self._held, ""
            self._begin_table(head + line, self._hangs(head))
        else:
            self._release()
            self._fresh_line(line)

    def _begin_table(self, head: str, indent: int) -> None:
        self._begin(Kind.TABLE, indent)
        self._open.opener = head
        self._open.add(head)

    def _table_row(self, line: str) -> None:
        """Go on; a long table goes on in another block, which repeats the head."""
        if self._open.line_count > TABLE_LIMIT:
            self._begin_table(self._open.opener, self._open.indent)
        self._open.add(line)

    def _fresh_line(self, line: str) -> None:
        """A line that may begin anything."""
        if self._open.kind is Kind.TABLE:
            self._close()
        if fence := FENCE.match(line.rstrip()):
            self._begin(Kind.CODE, self._hangs(line))
            self._open.strip, self._open.closer = len(fence[1]), fence[2]
            self._open.language = _language(fence[3])
        elif display := DISPLAY.match(line):
            self._begin_math(line, display[1], display[2])
        elif "|" in line:
            self._held = line
        else:
            self._prose_line(line)

    def _code_line(self, line: str) -> None:
        if self._open.closed_by(line):
            self._close()
        else:
            self._open.add(self._open.stripped(line))

    def _begin_math(self, line: str, spaces: str, opener: str) -> None:
        self._begin(Kind.MATH, self._hangs(line))
        self._open.closer = display_closer(opener)
        self._open.opener = spaces
        rest = line[len(spaces) :]
        if not opener.startswith("\\begin"):
            self._open.opener += opener
            rest = rest[len(opener) :]
        if rest.strip():
            self._math_line(rest)
        else:
            self._open.add(rest)

    def _math_line(self, line: str) -> None:
        """Go on to the closing bracket; a blank line or a fence shows that it was no formula."""
        inside, closer, after = line.partition(self._open.closer)
        if closer and _AFTER_DISPLAY.match(after):
            self._open.add(inside + (closer if closer.startswith("\\end") else "") + after.strip())
            self._close()
            return
        self._open.add(line)
        broken = closer or not line.strip() or FENCE.match(line.rstrip())
        if broken or self._open.size > MATH_LIMIT:
            self._math_was_prose()

    def _math_was_prose(self) -> None:
        source = self._open.opener + self._open.text()
        self._open = OpenBlock()
        first, *others = _LINE.findall(source)
        self._prose_line(first)
        for line in others:
            self._line(line)

    def _release(self) -> None:
        """The line held back was no table's head."""
        if self._held:
            line, self._held = self._held, ""
            self._prose_line(line)

    def _prose_line(self, line: str) -> None:
        if not line.strip():
            self._blank = True
            self._open.add(line)
            return
        self._enter_or_leave_list(line)
        indent = self._hangs(line) if self._cut_indent else 0
        line = _without_spaces(line, self._cut_indent)
        begins = self._begins_part(line)
        line = self._numbered(line)
        same = self._open.kind is Kind.PROSE and self._open.indent == indent
        if not same or (self._open.size > PROSE_LIMIT and (begins or len(line) > LINE_LIMIT // 2)):
            self._begin(Kind.PROSE, indent)
            self._open.add(line)
        elif begins:
            self._open.add_part(line)
        else:
            self._open.add(line)
        self._blank = False

    def _begins_part(self, line: str) -> bool:
        """Whether Markdown reads this line alike without the lines before it."""
        if HEADING.match(line) or self._open.ends_with_heading():
            return True
        item = ITEM.match(line)
        if item and not item[1]:
            return self._blank or self._open.ends_with_item()
        return self._blank and line[0] not in " \t>"

    def _enter_or_leave_list(self, line: str) -> None:
        item = ITEM.match(line)
        if item and not item[1] and not RULE.match(line):
            self._item_indent, self._cut_indent = len(item[0]) if item[3] else 2, 0
        elif HEADING.match(line) or (self._blank and line[0] not in " \t"):
            self._item_indent = self._cut_indent = self._number = 0

    def _hangs(self, line: str) -> int:
        """How many levels a block hangs in: one, if its first line is indented in an item."""
        return 1 if self._item_indent and line[0] == " " else 0

    def _numbered(self, line: str) -> str:
        """The line; an item that repeats a number, as Markdown allows, is counted on."""
        item = ITEM.match(line)
        if not item or item[1]:
            return line
        if not item[2][0].isdigit():
            self._number = 0
            return line
        number = int(item[2][:-1])
        self._number = self._number + 1 if 0 < number <= self._number else number
        return f"{self._number}{line[len(item[2]) - 1 :]}"

    def _begin(self, kind: Kind, indent: int) -> None:
        self._close()
        self._open = OpenBlock(kind, indent)
        if kind is not Kind.PROSE:
            self._cut_indent = self._item_indent

    def _close(self) -> None:
        if block := self._open.block(closed=True):
            self._done.append(block)
        self._open = OpenBlock()
        self._blank = True


def blocks_of(text: str) -> list[Block]:
    """The blocks of a whole text."""
    reader = BlockReader()
    reader.feed(text)
    reader.finish()
    return reader.blocks


def _language(info: str) -> str:
    """The language that a fence names: "python" of "python title=x" and of "{.python}"."""
    words = info.strip().strip("{}").split()
    return words[0].strip(".,") if words else ""


def _without_spaces(line: str, most: int) -> str:
    spaces = len(line) - len(line.lstrip(" "))
    return line[min(spaces, most) :]
