import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import BadOption, NotEnoughMemory
from engine.experts.budget import check_slots, slots_for_budget
from tests.engine.experts.handmade import EXPERTS, LAYERS, make_layout

LAYOUT = make_layout()
ROW = LAYOUT.payload * LAYERS
FIXED = 1_000_000


@settings(deadline=None)
@given(st.integers(0, FIXED + 2 * EXPERTS * ROW))
def test_the_budget_is_kept_and_used(budget: int) -> None:
    try:
        count = slots_for_budget(budget, FIXED, LAYOUT, 3)
    except NotEnoughMemory:
        assert budget < FIXED + 3 * ROW
        return
    assert 3 <= count <= EXPERTS
    assert FIXED + count * ROW <= budget
    assert count == EXPERTS or FIXED + (count + 1) * ROW > budget


def test_the_refusal_names_the_budget_and_the_least_that_works() -> None:
    least = FIXED + 3 * ROW
    with pytest.raises(NotEnoughMemory) as caught:
        slots_for_budget(least - 1, FIXED, LAYOUT, 3)
    assert "2 MB" in caught.value.message
    assert caught.value.remedy == "Allow at least 2 MB."
    assert slots_for_budget(2_000_000, FIXED, LAYOUT, 3) >= 3


def test_slots_asked_for_stay_within_the_layer() -> None:
    assert check_slots(3, LAYOUT, 3) == 3
    assert check_slots(1000, LAYOUT, 3) == EXPERTS
    with pytest.raises(BadOption, match=r"2 expert slots.*at least 3.*at most 12"):
        check_slots(2, LAYOUT, 3)
