"""How a turn is cut into pieces. Free functions on data."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from app.blocks.block import Block, Kind
from app.conversation import Activity, Message
from app.ui.transcript.piece import Piece, PieceKind

BUBBLE_LIMIT = 2000  # characters of a person's words in one widget

_KINDS = {
    Kind.PROSE: PieceKind.PROSE,
    Kind.CODE: PieceKind.CODE,
    Kind.TABLE: PieceKind.TABLE,
    Kind.MATH: PieceKind.MATH,
}
_PROGRESS = ("queued", "loading", "reading", "stopping")
_SENTENCE = re.compile(r"[^.!?…。！？\n]*[.!?…。！？\n]")
_SENTENCE_TAIL = 400  # characters of the reasoning in which its last sentence is looked for


@dataclass(frozen=True, slots=True)
class TurnState:
    """How a turn is shown, beside what it says."""

    reasoning_open: bool = False
    editing: bool = False
    is_last: bool = False
    waits: bool = False  # a person's turn that was not begun
    activity: Activity | None = None
    thinking_since: float | None = None  # by time.monotonic(); None: nobody saw it begin
    thought_s: float | None = None  # until the message itself says how long it took


def user_pieces(message: Message, state: TurnState) -> list[Piece]:
    """The pieces of a person's turn."""
    pieces = []
    if message.attachments:
        pieces.append(Piece(PieceKind.ATTACHMENTS, files=message.attachments))
    bare = _without_texts(message)
    if state.editing:
        return [*pieces, Piece(PieceKind.EDITOR, text=message.text, message=bare)]
    stretches = list(_stretches(message.text)) or ([] if pieces else [""])
    for number, text in enumerate(stretches):
        first, last = number == 0, number == len(stretches) - 1
        pieces.append(Piece(PieceKind.BUBBLE, text=text, is_first=first, is_last=last))
    return [*pieces, Piece(PieceKind.FOOTER, message=bare, is_last=state.waits)]


def answer_pieces(
    message: Message, reasoning: Iterable[Piece], answer: Iterable[Piece], state: TurnState
) -> list[Piece]:
    """The pieces of an answer around those of its blocks. `reasoning` is empty while folded."""
    bare = _without_texts(message)
    end = Piece(
        PieceKind.FOOTER, message=bare, is_last=state.is_last, can_continue=message.can_continue
    )
    pieces = [*_thinking(message, bare, state), *reasoning, *answer]
    if not message.settled:
        pieces += _progress(message, bare, state)
    elif message.status in ("failed", "interrupted"):
        pieces.append(replace(end, kind=PieceKind.TROUBLE, is_last=True))
        end = replace(end, can_continue=False)  # the card offers it
    return [*pieces, end]


def last_sentence(reasoning: str) -> str:
    """The last sentence that is finished, on one line."""
    found = [text.strip() for text in _SENTENCE.findall(reasoning[-_SENTENCE_TAIL:])]
    return next((text for text in reversed(found) if len(text) > 1), "")


def block_piece(block: Block, *, is_quiet: bool = False) -> Piece:
    """The piece of a block; a quiet one belongs to the reasoning."""
    return Piece(_KINDS[block.kind], block=block, is_quiet=is_quiet, is_open=not block.closed)


def _thinking(message: Message, bare: Message, state: TurnState) -> Iterator[Piece]:
    if not message.reasoning:
        return
    thinks = not message.settled and not message.text
    yield Piece(
        PieceKind.THINKING,
        message=bare,
        text=last_sentence(message.reasoning) if thinks else "",
        seconds=message.reasoning_s if message.reasoning_s is not None else state.thought_s,
        since=state.thinking_since if thinks else None,
        is_unfinished=message.settled and not message.text,
        is_open=state.reasoning_open,
    )


def _progress(message: Message, bare: Message, state: TurnState) -> list[Piece]:
    activity = state.activity
    waits = activity is not None and activity.phase in _PROGRESS
    if waits or not (message.text or message.reasoning):
        return [Piece(PieceKind.PROGRESS, message=bare, activity=activity)]
    return []


def _stretches(text: str) -> Iterator[str]:
    """Whole lines of at most BUBBLE_LIMIT characters together; longer lines are cut."""
    at = 0
    while len(text) - at > BUBBLE_LIMIT:
        cut = text.rfind("\n", at, at + BUBBLE_LIMIT)
        space = text.rfind(" ", at + BUBBLE_LIMIT // 2, at + BUBBLE_LIMIT)
        end = cut + 1 if cut > at else space + 1 if space > at else at + BUBBLE_LIMIT
        yield text[at:end].removesuffix("\n")
        at = end
    if at < len(text):
        yield text[at:]


def _without_texts(message: Message) -> Message:
    """The message as pieces carry it: they do not change with every word."""
    return replace(message, text="", reasoning="", attachments=())
