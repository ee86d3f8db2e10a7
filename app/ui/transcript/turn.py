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
from app.ui.transcript.pieces import TurnState, answer_pieces, user_pieces
from app.ui.transcript.stack import Stack


class Turn:
    """A message, and how it is shown."""

    def __init__(self, message: Message, page: Page, state: TurnState) -> None:
        self.message = message
        self.pieces: list[Piece] = []
        self.heights = Stack()
        self._page = page
        self._state = state
        self._measured: list[bool] = []
        self._answer: _Text | None = None  # None: not cut yet
        self._reasoning: _Text | None = None
        self._guess: tuple[int, int] | None = None  # width, height

    @property
    def state(self) -> TurnState:
        return self._state

    @property
    def is_cut(self) -> bool:
        return self._answer is not None

    def height(self, width: int) -> int:
        """Pixels of the whole turn, as far as they are known."""
        if self.is_cut:
            return self.heights.height
        if self._guess is None or self._guess[0] != width:
            self._guess = (width, turn_height(self.message, width, self._page))
        return self._guess[1]

    def cut(self, width: int) -> None:
        """Cut the message into pieces, if that was not done yet."""
        if not self.is_cut:
            self._answer = _Text(self.message.text, done=self.message.settled)
            self._arrange(width)

    def grow(self, delta: AnswerDelta, width: int) -> None:
        """More of the answer arrived."""
        self._watch_thinking(delta)
        text, reasoning = self.message.text + delta.text, self.message.reasoning + delta.reasoning
        self.message = replace(self.message, text=text, reasoning=reasoning)
        self._follow(width)

    def _watch_thinking(self, delta: AnswerDelta) -> None:
        now, since = monotonic(), self._state.thinking_since
        if delta.reasoning and not self.message.reasoning:
            self._state = replace(self._state, thinking_since=now)
        elif delta.text and not self.message.text and since is not None:
            self._state = replace(self._state, thought_s=now - since)

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
        self._measured[index] = True
        self.heights[index] = height

    def is_measured(self, index: int) -> bool:
        return self._measured[index]

    def forget_height(self, index: int) -> None:
        """A piece needs to be measured again."""
        self._measured[index] = False

    def forget_heights(self) -> None:
        """The width or the size of the text changed: what was measured is a guess now."""
        self._measured = [False] * len(self.pieces)
        self._guess = None

    def _follow(self, width: int) -> None:
        if self._answer is None:
            self._guess = None
            return
        self._answer = self._answer.followed(self.message.text, done=self.message.settled)
        self._arrange(width)

    def _arrange(self, width: int) -> None:
        """Make the pieces; those that did not change keep their heights."""
        pieces = self._pieces()
        same = next(
            (
                i
                for i, (old, new) in enumerate(zip(self.pieces, pieces, strict=False))
                if old != new
            ),
            min(len(self.pieces), len(pieces)),
        )
        kept = [self.heights[i] for i in range(len(self.pieces))]
        guesses = [
            kept[i]
            if i < len(kept) and self.pieces[i].kind is pieces[i].kind
            else piece_height(pieces[i], width, self._page)
            for i in range(same, len(pieces))
        ]
        self.heights.replace(same, guesses)
        self._measured[same:] = [False] * (len(pieces) - same)
        self.pieces = pieces

    def _pieces(self) -> list[Piece]:
        if self.message.role == "user":
            return user_pieces(self.message, self._state)
        assert self._answer is not None
        return answer_pieces(self.message, self._thoughts(), self._answer.blocks(), self._state)

    def _thoughts(self) -> list[Block]:
        """The reasoning's blocks; it is not even read while it is folded."""
        if not self._state.reasoning_open:
            return []
        done = self.message.settled or bool(self.message.text)
        if self._reasoning is None:
            self._reasoning = _Text(self.message.reasoning, done=done)
        else:
            self._reasoning = self._reasoning.followed(self.message.reasoning, done=done)
        return self._reasoning.blocks()


class _Text:
    """A text that grows, and its blocks."""

    def __init__(self, text: str, *, done: bool) -> None:
        self._text = text
        self._done = done
        self._reader = BlockReader()
        self._reader.feed(text)
        if done:
            self._reader.finish()

    def blocks(self) -> list[Block]:
        return self._reader.blocks

    def followed(self, text: str, *, done: bool) -> "_Text":
        """This text after it became another; itself where that only went on."""
        if text == self._text and done == self._done:
            return self
        if self._done or not text.startswith(self._text):
            return _Text(text, done=done)
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
