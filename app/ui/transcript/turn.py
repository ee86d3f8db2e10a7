"""Turn: one message of the transcript: its pieces and their heights. Knows no widget.

A turn is cut into pieces when it first comes near the visible screens; until then its height is a
guess. A piece's height is a guess until its widget was laid out.
"""

from dataclasses import replace
from time import monotonic

from app.blocks.block import Block
from app.blocks.reader import BlockReader
from app.conversation import AnswerDelta, Message
from app.ui.transcript.estimate import piece_height, turn_height
from app.ui.transcript.page import Page
from app.ui.transcript.piece import Piece
from app.ui.transcript.pieces import TurnState, answer_pieces, block_piece, user_pieces
from app.ui.transcript.stack import Stack

_PLAIN = TurnState()
_NOTHING = Stack()


class Turn:
    """A message, and how it is shown. There may be thousands: one that is not cut is small."""

    __slots__ = ("_cut", "_guess", "_page", "_state", "message")

    def __init__(self, message: Message, page: Page) -> None:
        self.message = message
        self._page = page
        self._state = _PLAIN
        self._cut: _Cut | None = None
        self._guess: tuple[int, int] | None = None  # width, height

    @property
    def state(self) -> TurnState:
        return self._state

    @property
    def is_cut(self) -> bool:
        return self._cut is not None

    @property
    def pieces(self) -> list[Piece]:
        return self._cut.pieces if self._cut else []

    @property
    def heights(self) -> Stack:
        """Of the pieces."""
        return self._cut.heights if self._cut else _NOTHING

    def height(self, width: int) -> int:
        """Pixels of the whole turn, as far as they are known."""
        if self._cut is not None:
            return self._cut.heights.height
        if self._guess is None or self._guess[0] != width:
            self._guess = (width, turn_height(self.message, width, self._page))
        return self._guess[1]

    def cut(self, state: TurnState, width: int) -> None:
        """Cut the message into pieces, to be shown like this."""
        self._state = state
        self._cut = _Cut(_Text(self.message.text, done=self.message.settled))
        self._arrange(self._cut, width)

    def grow(self, delta: AnswerDelta, width: int) -> None:
        """More of the answer arrived."""
        self._watch_thinking(delta)
        text, reasoning = self.message.text + delta.text, self.message.reasoning + delta.reasoning
        self.message = replace(self.message, text=text, reasoning=reasoning)
        self._follow(width)

    def update(self, message: Message, width: int) -> None:
        """The message changed."""
        self.message = _longer(self.message, message)
        self._follow(width)

    def show(self, state: TurnState, width: int) -> None:
        """Show it differently."""
        if state != self._state:
            self._state = state
            self._follow(width)

    def set_height(self, index: int, height: int) -> None:
        """Note what a piece measures."""
        assert self._cut is not None
        self._cut.measured[index] = True
        self._cut.heights[index] = height

    def is_measured(self, index: int) -> bool:
        return self._cut is not None and self._cut.measured[index]

    def forget_height(self, index: int) -> None:
        """A piece needs to be measured again."""
        if self._cut is not None:
            self._cut.measured[index] = False

    def forget_heights(self) -> None:
        """The width or the size of the text changed: what was measured is a guess now."""
        self._guess = None
        if self._cut is not None:
            self._cut.measured = [False] * len(self._cut.pieces)

    def _watch_thinking(self, delta: AnswerDelta) -> None:
        now, since = monotonic(), self._state.thinking_since
        if delta.reasoning and not self.message.reasoning:
            self._state = replace(self._state, thinking_since=now)
        elif delta.text and not self.message.text and since is not None:
            self._state = replace(self._state, thought_s=now - since)

    def _follow(self, width: int) -> None:
        self._guess = None
        if self._cut is not None:
            text, done = self.message.text, self.message.settled
            self._cut.answer = self._cut.answer.followed(text, done=done)
            self._arrange(self._cut, width)

    def _arrange(self, cut: "_Cut", width: int) -> None:
        """Make the pieces; those that did not change keep their heights."""
        pieces = self._pieces(cut)
        same = _same_at_start(cut.pieces, pieces)
        heights = [
            cut.heights[i]
            if i < len(cut.pieces) and cut.pieces[i].kind is pieces[i].kind
            else piece_height(pieces[i], width, self._page)
            for i in range(same, len(pieces))
        ]
        cut.heights.replace(same, heights)
        cut.measured[same:] = [False] * len(heights)
        cut.pieces = pieces

    def _pieces(self, cut: "_Cut") -> list[Piece]:
        if self.message.role == "user":
            return user_pieces(self.message, self._state)
        return answer_pieces(self.message, self._thoughts(cut), cut.answer.pieces(), self._state)

    def _thoughts(self, cut: "_Cut") -> list[Piece]:
        """The reasoning's pieces; it is not even read while it is folded."""
        if not self._state.reasoning_open:
            return []
        done = self.message.settled or bool(self.message.text)
        if cut.reasoning is None:
            cut.reasoning = _Text(self.message.reasoning, done=done, is_quiet=True)
        else:
            cut.reasoning = cut.reasoning.followed(self.message.reasoning, done=done)
        return cut.reasoning.pieces()


class _Cut:
    """What there is of a turn once it was cut into pieces."""

    def __init__(self, answer: "_Text") -> None:
        self.answer = answer
        self.reasoning: _Text | None = None
        self.pieces: list[Piece] = []
        self.heights = Stack()
        self.measured: list[bool] = []


class _Text:
    """A text that grows, and the pieces of its blocks."""

    def __init__(self, text: str, *, done: bool, is_quiet: bool = False) -> None:
        self._text = text
        self._done = done
        self._is_quiet = is_quiet
        self._final: list[Piece] = []
        self._reader = BlockReader()
        self._reader.feed(text)
        if done:
            self._reader.finish()

    def pieces(self) -> list[Piece]:
        """Those of blocks that are final are made once."""
        blocks, final = self._reader.blocks, self._reader.settled
        self._final += map(self._piece, blocks[len(self._final) : final])
        return [*self._final, *map(self._piece, blocks[final:])]

    def _piece(self, block: Block) -> Piece:
        return block_piece(block, is_quiet=self._is_quiet)

    def followed(self, text: str, *, done: bool) -> "_Text":
        """This text after it became another; itself where that only went on."""
        if text == self._text and done == self._done:
            return self
        if self._done or not text.startswith(self._text):
            return _Text(text, done=done, is_quiet=self._is_quiet)
        self._reader.feed(text[len(self._text) :])
        self._text = text
        if done:
            self._reader.finish()
            self._done = True
        return self


def _longer(shown: Message, told: Message) -> Message:
    """What was told; an unfinished answer may have been shown further than it was saved."""
    if told.settled or told.id != shown.id:
        return told
    text = shown.text if shown.text.startswith(told.text) else told.text
    reasoning = shown.reasoning if shown.reasoning.startswith(told.reasoning) else told.reasoning
    return replace(told, text=text, reasoning=reasoning)


def _same_at_start(before: list[Piece], now: list[Piece]) -> int:
    """How many pieces at the beginning are as they were."""
    pairs = enumerate(zip(before, now, strict=False))
    others = (i for i, (b, n) in pairs if b is not n and b != n)  # most are the same objects
    return next(others, min(len(before), len(now)))
