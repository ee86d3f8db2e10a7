import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.text.stop import StopStrings
from tests.engine.text.splitting import cut_at, cuts

CASES = [
    # text, stops, shown, stopped
    ("Hello. END more", ["END"], "Hello. ", True),
    ("Hello. EN", ["END"], "Hello. EN", False),
    ("no stops", [], "no stops", False),
    ("a🛑b", ["🛑"], "a", True),
    ("日本語。次", ["。"], "日本語", True),
    ("xabc", ["abc", "b"], "x", True),
    ("xabd", ["abc", "b"], "xa", True),
    ("xab", ["abc", "b"], "xa", True),
    ("aaab", ["aab"], "a", True),
    ("ababac", ["abac", "bab!"], "ab", True),
    ("\n\nUser:", ["\nUser:", "\n\n\n"], "\n", True),
    ("stop", ["stop"], "", True),
    ("first second", ["second", "first"], "", True),
    ("", ["x"], "", False),
    ("👨‍👩‍👧", ["👩"], "👨‍", True),
]


def run(pieces: list[str], stops: list[str]) -> tuple[str, bool]:
    stopper = StopStrings(stops)
    shown = "".join(map(stopper.feed, pieces)) + stopper.finish()
    return shown, stopper.stopped


@pytest.mark.parametrize(("text", "stops", "shown", "stopped"), CASES)
def test_stops_split_at_every_byte(text: str, stops: list[str], shown: str, stopped: bool) -> None:
    for pieces in cuts(text):
        assert run(pieces, stops) == (shown, stopped)


@given(
    st.text("ab", max_size=20),
    st.lists(st.text("ab", min_size=1, max_size=5), max_size=4),
    st.lists(st.integers(0, 20), max_size=6),
)
@settings(deadline=None, max_examples=200)
def test_any_text_cut_anywhere_stops_as_the_whole(
    text: str, stops: list[str], places: list[int]
) -> None:
    found = [text.find(stop) for stop in stops if stop in text]
    expected = text[: min(found)] if found else text
    assert run(cut_at(text, places), stops) == (expected, bool(found))


@given(st.text("ab", max_size=12), st.lists(st.text("ab", min_size=1, max_size=4), min_size=1))
@settings(deadline=None)
def test_no_part_of_a_stop_is_shown_and_taken_back(text: str, stops: list[str]) -> None:
    stopper = StopStrings(stops)
    shown = ""
    for character in text:
        shown += stopper.feed(character)
        assert not any(stop in shown for stop in stops)
        assert text.startswith(shown)


def test_nothing_is_shown_after_the_stop() -> None:
    stopper = StopStrings(["."])
    assert stopper.feed("a.b") == "a"
    assert stopper.stopped
    assert (stopper.feed("c"), stopper.finish()) == ("", "")


def test_text_is_not_held_longer_than_it_must() -> None:
    stopper = StopStrings(["\n\n"])
    assert [stopper.feed(piece) for piece in ["a", "\n", "b"]] == ["a", "", "\nb"]
