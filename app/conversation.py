"""What the application talks about: conversations, their messages, and what is told about them.

Threading: every class here is frozen and holds only immutable values, so instances pass freely
between threads and through queued signals. Nothing here knows Qt, SQLite or the engine process.
Ids are opaque texts, unique in the whole data folder. Times are seconds since the epoch, UTC.
"""

from dataclasses import dataclass, field
from typing import Literal

from app.settings import Overrides
from engine.events import AnswerStats, FinishReason

__all__ = [
    "Activity",
    "AnswerDelta",
    "AnswerStats",
    "Attachment",
    "Conversation",
    "Deletion",
    "Failure",
    "FinishReason",
    "Folder",
    "Library",
    "Message",
    "MessageStatus",
    "Phase",
    "QueuedAnswer",
    "Role",
    "SearchHit",
    "SearchResults",
    "TitleSource",
    "TokenCount",
]

Role = Literal["user", "assistant"]

# Where an answer stands. A user's turn is "complete" from the moment it is committed.
#   queued       waits for the engine; nothing was generated yet
#   streaming    text is arriving
#   complete     the model ended it, or a length limit did (`finish_reason` tells)
#   stopped      the person pressed Stop; the text so far is kept
#   interrupted  the engine or the application died; the text so far is kept
#   failed       the engine refused or could not go on; `error` says why, the text so far is kept
MessageStatus = Literal["queued", "streaming", "complete", "stopped", "interrupted", "failed"]

# Who named a conversation: nobody yet (its first words stand in), the model, or the person.
TitleSource = Literal["none", "model", "person"]

# What an answer's engine is doing right now, in the order in which it happens.
Phase = Literal["idle", "queued", "loading", "reading", "thinking", "answering", "stopping"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Something a person can act on: one sentence what happened, one what to do."""

    kind: str  # name of the error's type, such as "ContextFull"; "" where there is none
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A text or code file that was attached to a user's turn, by its text."""

    name: str  # file name without folders
    text: str


@dataclass(frozen=True, slots=True)
class Message:
    """One turn in a conversation's tree, as it stands on the branch that is shown.

    `sibling_index` (from 0) and `sibling_count` place it among the versions of its turn: the
    children of the same parent that have not been deleted.
    """

    id: str
    conversation_id: str
    parent_id: str | None  # None: a first message
    role: Role
    text: str  # source text: Markdown of an answer, verbatim input of a person
    reasoning: str = ""
    reasoning_s: float | None = None  # how long the model thought; None: it did not (yet)
    status: MessageStatus = "complete"
    error: Failure | None = None  # of a failed or interrupted answer
    created_at: float = 0.0
    model: str = ""  # name of the model that answered, or that is to answer
    finish_reason: FinishReason | None = None
    stats: AnswerStats | None = None  # of a finished answer
    sibling_index: int = 0
    sibling_count: int = 1
    attachments: tuple[Attachment, ...] = ()

    @property
    def settled(self) -> bool:
        """Whether the text will not change by itself any more."""
        return self.status not in ("queued", "streaming")

    @property
    def can_continue(self) -> bool:
        """Whether Continue makes sense: an answer with text that was cut short."""
        cut = self.status in ("stopped", "interrupted", "failed") or self.finish_reason == "length"
        return self.role == "assistant" and self.settled and cut and bool(self.text)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as the sidebar and the window's title show it; its messages are apart."""

    id: str
    title: str  # never empty: the first words of the first turn stand in for a missing name
    title_source: TitleSource = "none"
    pinned: bool = False
    folder_id: str | None = None
    created_at: float = 0.0
    updated_at: float = 0.0  # of the last turn
    deleted_at: float | None = None  # set while in Recently Deleted
    model: str = ""  # path of the model this conversation last used; "": the application's
    overrides: Overrides = field(default_factory=Overrides)
    draft: str = ""  # what stood in the composer


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of the sidebar."""

    id: str
    name: str
    position: int = 0


@dataclass(frozen=True, slots=True)
class Library:
    """The sidebar's content. Conversations: pinned first, then the latest turn first."""

    folders: tuple[Folder, ...] = ()
    conversations: tuple[Conversation, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A place where a search found its words. `message_id` None: in the title.

    `excerpt` is plain text on one line; `marks` are (start, length) pairs in it, in characters.
    The message may lie on a branch that is not shown: `ChatController.reveal` switches to it.
    """

    conversation_id: str
    title: str
    message_id: str | None
    excerpt: str
    marks: tuple[tuple[int, int], ...]
    created_at: float


@dataclass(frozen=True, slots=True)
class SearchResults:
    """What the search for `query` found: titles, then messages, the latest first."""

    query: str
    hits: tuple[SearchHit, ...]
    truncated: bool = False  # there were more hits than are listed


@dataclass(frozen=True, slots=True)
class Deletion:
    """Something that was just deleted and can be had back: what the Undo bar shows."""

    id: str  # for undo()
    kind: Literal["conversations", "folder", "message"]
    count: int  # how many conversations or messages went
    title: str  # name of the first of them


@dataclass(frozen=True, slots=True)
class AnswerDelta:
    """More of an answer: append `reasoning` and `text` to what is shown. One of them may be ""."""

    conversation_id: str
    message_id: str
    generation_id: str
    reasoning: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class QueuedAnswer:
    """An answer that waits or runs. `place` 0 is the one being answered, 1 the next, ..."""

    conversation_id: str
    message_id: str
    place: int


@dataclass(frozen=True, slots=True)
class Activity:
    """What happens to one conversation's current answer: for its message and the Stop button."""

    phase: Phase = "idle"
    message_id: str | None = None
    place: int = 0  # while queued: how many answers come before it
    prompt_done: int = 0  # while reading: tokens
    prompt_total: int = 0
    load_fraction: float = 0.0  # while loading, 0 to 1


@dataclass(frozen=True, slots=True)
class TokenCount:
    """What the composer's counter shows: `used` of `limit` tokens if the draft were sent now."""

    draft: int  # tokens of the draft with its attachments
    used: int  # tokens of the branch shown plus the draft
    limit: int | None  # the model's context; None while no model is loaded
    exact: bool  # False: estimated from the length, as no model is loaded

    @property
    def too_long(self) -> bool:
        """Whether the prompt would leave no room for an answer."""
        return self.limit is not None and self.used >= self.limit
