"""The sidebar's rows, arranged from the library or from what a search found. Plain values, no Qt
widgets: pinned first, then the folders, then everything else by date.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby

from PySide6.QtCore import QCoreApplication, QDate, QLocale, QTime

from app.conversation import Conversation, Library, SearchResults

translate = QCoreApplication.translate

PINNED = "pinned"  # key of the section of pinned conversations


@dataclass(frozen=True, slots=True)
class SectionRow:
    """A heading. Those of folders can be folded, renamed and dropped on."""

    key: str  # a folder's id, or a name of our own
    title: str
    is_folder: bool = False
    is_folded: bool = False


@dataclass(frozen=True, slots=True)
class ChatRow:
    """A conversation, or a place in one that a search found."""

    conversation_id: str
    title: str
    detail: str = ""  # at the right: when
    is_pinned: bool = False
    folder_id: str | None = None
    message_id: str | None = None  # of a search's hit
    excerpt: str = ""  # of a search's hit: a second line
    marks: tuple[tuple[int, int], ...] = ()


Row = SectionRow | ChatRow


def arrange(library: Library, now: datetime, folded: Collection[str] = ()) -> tuple[Row, ...]:
    """The rows of a library. `now` is local time; `folded` names the folders shown folded."""
    loose = [c for c in library.conversations if not c.pinned and c.folder_id is None]
    rows: list[Row] = []
    if pinned := [c for c in library.conversations if c.pinned]:
        rows += [
            SectionRow(PINNED, translate("sidebar", "Pinned")),
            *(chat_row(c, now) for c in pinned),
        ]
    for folder in sorted(library.folders, key=lambda folder: folder.position):
        is_folded = folder.id in folded
        rows.append(SectionRow(folder.id, folder.name, is_folder=True, is_folded=is_folded))
        if not is_folded:
            inside = (c for c in library.conversations if c.folder_id == folder.id)
            rows += [chat_row(c, now) for c in inside if not c.pinned]
    return (*rows, *_by_date(loose, now))


def arrange_hits(results: SearchResults, now: datetime) -> tuple[Row, ...]:
    """The rows of a search: each conversation's hits together, best conversation first."""
    rows: list[Row] = []
    for hit in results.hits:
        is_title = hit.message_id is None
        rows.append(
            ChatRow(
                hit.conversation_id,
                hit.title,
                when(hit.created_at, now),
                message_id=hit.message_id,
                excerpt="" if is_title else hit.excerpt,
                marks=() if is_title else hit.marks,
            )
        )
    return tuple(rows)


def chat_row(conversation: Conversation, now: datetime) -> ChatRow:
    """A conversation's row; its section tells when, but for the times of today."""
    is_today = datetime.fromtimestamp(conversation.updated_at).date() == now.date()
    return ChatRow(
        conversation.id,
        conversation.title,
        when(conversation.updated_at, now) if is_today else "",
        conversation.pinned,
        conversation.folder_id,
    )


def when(timestamp: float, now: datetime) -> str:
    """The time of a moment of today, the day of one of this year, else the whole date."""
    moment = datetime.fromtimestamp(timestamp)
    day = QDate(moment.year, moment.month, moment.day)
    if moment.date() == now.date():
        clock = QTime(moment.hour, moment.minute)
        return QLocale().toString(clock, QLocale.FormatType.ShortFormat)
    if moment.year == now.year:
        return QLocale().toString(day, translate("sidebar", "d MMM"))
    return QLocale().toString(day, QLocale.FormatType.ShortFormat)


def _by_date(conversations: Iterable[Conversation], now: datetime) -> Iterator[Row]:
    latest_first = sorted(conversations, key=lambda c: c.updated_at, reverse=True)
    grouped = groupby(latest_first, key=lambda c: _age(c.updated_at, now.date()))
    for (key, title), group in grouped:
        yield SectionRow(key, title)
        yield from (chat_row(conversation, now) for conversation in group)


def _age(timestamp: float, today: date) -> tuple[str, str]:
    """Key and title of the section that a moment belongs to."""
    day = datetime.fromtimestamp(timestamp).date()
    days = (today - day).days
    if days <= 0:
        return "today", translate("sidebar", "Today")
    if days == 1:
        return "yesterday", translate("sidebar", "Yesterday")
    if days <= 7:
        return "week", translate("sidebar", "Previous 7 days")
    if days <= 30:
        return "month", translate("sidebar", "Previous 30 days")
    if day.year == today.year:
        return f"{day.year}-{day.month}", QLocale().standaloneMonthName(day.month)
    return str(day.year), str(day.year)
