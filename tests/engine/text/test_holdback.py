import pytest

from engine.text.holdback import held_length


@pytest.mark.parametrize(
    ("text", "marks", "length"),
    [
        ("a <thi", ["<think>"], 4),
        ("a <think>", ["<think>"], 0),
        ("<<", ["<think>"], 1),
        ("aab", ["aabaab", "b"], 3),
        ("abab", ["ababc", "bab!"], 4),
        ("", ["x"], 0),
        ("text", [], 0),
        ("xx", ["xxx"], 2),
        ("é日", ["日本"], 1),
    ],
)
def test_the_longest_end_that_begins_a_mark_is_held(
    text: str, marks: list[str], length: int
) -> None:
    assert held_length(text, marks) == length
