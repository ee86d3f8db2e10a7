import pytest

from engine.experts.policy import Recency
from engine.experts.residency import Residency


def claimed(residency: Residency, experts: list[int]) -> list[int]:
    """Claim and let go; those that had no slot."""
    absent = residency.claim(experts)
    residency.unpin(experts)
    return absent


def test_free_slots_are_used_before_one_is_evicted() -> None:
    residency = Residency(8, 3, Recency())
    assert claimed(residency, [5]) == [5]
    assert claimed(residency, [5, 6, 7]) == [6, 7]
    assert residency.slot_of == {5: 0, 6: 1, 7: 2}
    assert claimed(residency, [1]) == [1]
    assert residency.slot_of == {6: 1, 7: 2, 1: 0}


def test_with_room_for_all_every_expert_lies_in_its_own_slot() -> None:
    residency = Residency(4, 4, Recency())
    claimed(residency, [2, 0])
    assert not residency.complete
    claimed(residency, [3, 1])
    assert residency.complete
    assert residency.slot_of == {e: e for e in range(4)}
    residency.drop(2)
    claimed(residency, [2])
    assert residency.slot_of[2] == 2


def test_pins_are_counted() -> None:
    residency = Residency(8, 2, Recency())
    residency.claim([0])
    residency.claim([0])
    residency.unpin([0])
    assert residency.pinned
    claimed(residency, [1])
    claimed(residency, [2])  # 0 is older, but held
    assert set(residency.slot_of) == {0, 2}
    residency.unpin([0])
    assert not residency.pinned


def test_a_refused_claim_changes_nothing() -> None:
    residency = Residency(8, 2, Recency())
    residency.claim([0])
    with pytest.raises(ValueError, match="3 experts are needed at once, of 2 slots"):
        residency.claim([1, 2])
    assert residency.slot_of == {0: 0}
    residency.unpin([0])
    assert not residency.pinned


def test_a_dropped_expert_frees_its_slot_and_its_pins() -> None:
    residency = Residency(8, 2, Recency())
    residency.claim([0, 1])
    residency.drop(0)
    assert claimed(residency, [4]) == [4]
    assert residency.slot_of == {1: 1, 4: 0}
