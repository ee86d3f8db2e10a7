"""Piece: what one widget of the transcript shows. Only data; see `pieces` for how they are made."""

from dataclasses import dataclass
from enum import Enum, auto

from app.blocks.block import Block
from app.conversation import Activity, Attachment, Message


class PieceKind(Enum):
    """What a piece is."""

    ATTACHMENTS = auto()  # files of a person's turn
    BUBBLE = auto()  # a person's words, or a stretch of them
    EDITOR = auto()  # the same, while they are changed
    THINKING = auto()  # the line that folds and unfolds the reasoning
    PROSE = auto()
    CODE = auto()
    TABLE = auto()
    MATH = auto()
    PROGRESS = auto()  # waiting, loading, reading
    TROUBLE = auto()  # a failed or interrupted answer
    FOOTER = auto()  # actions and figures


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a turn. Equal pieces look equal."""

    kind: PieceKind
    block: Block | None = None  # of an answer or its reasoning
    text: str = ""  # of a bubble, of an editor; of thinking: its last sentence, while it comes
    files: tuple[Attachment, ...] = ()
    message: Message | None = None  # without its texts; not of blocks and bubbles
    activity: Activity | None = None  # progress
    seconds: float | None = None  # thinking: how long it took, once it is over
    since: float | None = None  # thinking: when it began, by time.monotonic(), while it goes on
    is_quiet: bool = False  # belongs to the reasoning
    is_open: bool = False  # thinking: unfolded; others: more is coming
    is_first: bool = True  # of the stretches of a bubble
    is_last: bool = True  # the same; footer: shown even when nobody points at it
    is_unfinished: bool = False  # thinking: it was cut short
    can_continue: bool = False  # trouble, footer
