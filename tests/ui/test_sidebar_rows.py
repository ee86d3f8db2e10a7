"""The order of the sidebar's rows."""

from datetime import datetime, timedelta

from app.conversation import Conversation, Folder, Library, SearchHit, SearchResults
from app.ui.sidebar_rows import ChatRow, Row, SectionRow, arrange, arrange_hits, when

NOW = datetime(2026, 11, 18, 15, 30)


def chat(name: str, ago: timedelta, **rest: object) -> Conversation:
    moment = (NOW - ago).timestamp()
    return Conversation(name, name, updated_at=moment, **rest)  # type: ignore[arg-type]


def words(rows: tuple[Row, ...]) -> list[str]:
    return [f"[{r.title}]" if isinstance(r, SectionRow) else r.title for r in rows]


def test_pinned_then_folders_then_dates() -> None:
    library = Library(
        (Folder("f2", "Later", 2), Folder("f1", "Work", 1)),
        (
            chat("pin", timedelta(days=90), pinned=True),
            chat("now", timedelta(minutes=1)),
            chat("inside", timedelta(days=2), folder_id="f1"),
            chat("eve", timedelta(days=1)),
            chat("week", timedelta(days=5)),
            chat("month", timedelta(days=20)),
            chat("spring", timedelta(days=200)),
            chat("old", timedelta(days=700)),
        ),
    )
    assert words(arrange(library, NOW)) == [
        "[Pinned]",
        "pin",
        "[Work]",
        "inside",
        "[Later]",
        "[Today]",
        "now",
        "[Yesterday]",
        "eve",
        "[Previous 7 days]",
        "week",
        "[Previous 30 days]",
        "month",
        "[May]",
        "spring",
        "[2024]",
        "old",
    ]


def test_folded_folder_hides_its_conversations() -> None:
    library = Library((Folder("f", "Work"),), (chat("inside", timedelta(0), folder_id="f"),))
    rows = arrange(library, NOW, {"f"})
    assert words(rows) == ["[Work]"]
    assert isinstance(rows[0], SectionRow)
    assert rows[0].is_folded


def test_pinned_conversation_of_a_folder_is_listed_once() -> None:
    library = Library(
        (Folder("f", "Work"),), (chat("both", timedelta(0), folder_id="f", pinned=True),)
    )
    assert words(arrange(library, NOW)) == ["[Pinned]", "both", "[Work]"]


def test_clock_that_went_back_puts_the_future_under_today() -> None:
    library = Library((), (chat("tomorrow", timedelta(days=-1)),))
    assert words(arrange(library, NOW)) == ["[Today]", "tomorrow"]


def test_only_today_has_times() -> None:
    library = Library((), (chat("now", timedelta(0)), chat("eve", timedelta(days=1))))
    details = [row.detail for row in arrange(library, NOW) if isinstance(row, ChatRow)]
    assert details == ["15:30", ""]


def test_hits_keep_their_order_and_marks() -> None:
    hits = (
        SearchHit("a", "Cake", None, "Cake", ((0, 4),), NOW.timestamp()),
        SearchHit("a", "Cake", "m1", "bake a cake", ((7, 4),), NOW.timestamp()),
    )
    first, second = arrange_hits(SearchResults("cake", hits), NOW)
    assert isinstance(first, ChatRow)
    assert isinstance(second, ChatRow)
    assert (first.excerpt, first.message_id) == ("", None)
    assert (second.excerpt, second.message_id, second.marks) == ("bake a cake", "m1", ((7, 4),))


def test_when_is_short() -> None:
    assert when(datetime(2026, 11, 18, 9, 5).timestamp(), NOW) == "09:05"
    assert when(datetime(2026, 3, 2, 9, 5).timestamp(), NOW) == "2 Mar"
    assert when(datetime(2024, 3, 2, 9, 5).timestamp(), NOW) == "02/03/2024"
