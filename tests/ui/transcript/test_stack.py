"""Stack: as a list of heights and sums over it, only faster."""

from hypothesis import given, settings
from hypothesis import strategies as st

from app.ui.transcript.stack import Stack

HEIGHTS = st.lists(st.integers(0, 50), max_size=12)


@settings(deadline=None, max_examples=200)
@given(HEIGHTS, st.lists(st.tuples(st.integers(0, 20), HEIGHTS), max_size=5))
def test_tops_are_sums_after_any_changes(
    heights: list[int], changes: list[tuple[int, list[int]]]
) -> None:
    stack = Stack(heights)
    for start, others in changes:
        start = min(start, len(heights))
        heights = heights[:start] + others
        stack.replace(start, others)
        if heights:
            stack[start % len(heights)] = 7
            heights[start % len(heights)] = 7
        assert [stack.top(i) for i in range(len(heights) + 1)] == [
            sum(heights[:i]) for i in range(len(heights) + 1)
        ]
    assert stack.height == sum(heights)


@settings(deadline=None, max_examples=200)
@given(HEIGHTS, st.integers(-10, 300), st.integers(1, 100))
def test_between_finds_what_has_a_part_in_a_stretch(
    heights: list[int], top: int, length: int
) -> None:
    stack = Stack(heights)
    found = stack.between(top, top + length)
    for index, height in enumerate(heights):
        begin = sum(heights[:index])
        inside = height > 0 and begin < top + length and begin + height > top
        assert not inside or index in found
    assert all(0 <= index < len(heights) for index in found)


def test_at_is_the_item_under_a_height() -> None:
    stack = Stack([10, 20, 30])
    assert [stack.at(y) for y in (-5, 0, 9, 10, 29, 30, 59, 60, 1000)] == [
        0,
        0,
        0,
        1,
        1,
        2,
        2,
        2,
        2,
    ]
