import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.text.reasoning import ReasoningSplitter
from tests.engine.text.splitting import cut_at, cuts

CASES = [
    # text, prompt opens <think>, reasoning, answer
    ("<think>\nWhy? 🤔\n</think>\n\nBecause.", False, "Why? 🤔", "Because."),
    ("Why? 🤔\n\nSo.\n</think>\n\nBecause é.", True, "Why? 🤔\n\nSo.", "Because é."),
    ("\n\n<think>x</think>y", False, "x", "y"),
    ("<think>\n\n</think>\n\nyes", False, "", "yes"),
    ("</think>\n\nyes", True, "", "yes"),
    ("plain", False, "", "plain"),
    ("  \n indented", False, "", "  \n indented"),
    ("", False, "", ""),
    ("", True, "", ""),
    (" \n", False, "", " \n"),
    ("Use `<think>` tags: <think>x</think>.", False, "", "Use `<think>` tags: <think>x</think>."),
    (
        "a</think>\n\nThen </think> and <think>b</think>",
        True,
        "a",
        "Then </think> and <think>b</think>",
    ),
    ("<think>cut off\n\n", False, "cut off", ""),
    ("cut off </thi", True, "cut off </thi", ""),
    ("cut off\n</thi", True, "cut off\n</thi", ""),
    ("<thinker> said", False, "", "<thinker> said"),
    ("<thi", False, "", "<thi"),
    ("</thin</think>x", True, "</thin", "x"),
    ("a\n\n</think>\n\n", True, "a", ""),
    ("a</think>\n\n    indented\n", True, "a", "    indented\n"),
    ("</", True, "</", ""),
]


def split(pieces: list[str], opened: bool) -> tuple[str, str]:
    splitter = ReasoningSplitter(opened)
    parts = [splitter.feed(piece) for piece in pieces] + [splitter.finish()]
    return "".join(reasoning for reasoning, _ in parts), "".join(answer for _, answer in parts)


def whole(text: str, opened: bool) -> tuple[str, str]:
    """The rule, said over the whole text."""
    body = text if opened else text.lstrip()
    if not opened and not body.startswith("<think>"):
        return "", text
    reasoning, _, answer = body.removeprefix("" if opened else "<think>").partition("</think>")
    return reasoning.strip("\n"), answer.lstrip("\n")


@pytest.mark.parametrize(("text", "opened", "reasoning", "answer"), CASES)
def test_tags_split_at_every_byte(text: str, opened: bool, reasoning: str, answer: str) -> None:
    for pieces in cuts(text):
        assert split(pieces, opened) == (reasoning, answer)


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "<", "think>", "/", "\n", " ", "é"])).map(
        "".join
    ),
    st.booleans(),
    st.lists(st.integers(0, 60), max_size=6),
)
@settings(deadline=None, max_examples=200)
def test_any_text_cut_anywhere_splits_as_the_whole(
    text: str, opened: bool, places: list[int]
) -> None:
    assert split(cut_at(text, places), opened) == whole(text, opened)


def test_text_is_not_held_longer_than_it_must() -> None:
    splitter = ReasoningSplitter(opened=True)
    assert splitter.feed("one two\n") == ("one two", "")
    assert splitter.feed("three</") == ("\nthree", "")
    assert splitter.feed("x") == ("</x", "")
    assert splitter.feed("</think>\n\nfour <think>") == ("", "four <think>")
