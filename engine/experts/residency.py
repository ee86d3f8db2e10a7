"""Residency: which expert of one layer lies in which slot, and which may not be evicted.

Bookkeeping alone: no tensors, no files. The cache and the simulator both stand on it, so what the
simulator judges is what runs.
"""

from collections.abc import Iterable, Sequence

from engine.experts.policy import EvictionPolicy


class Residency:
    """A one-to-one map from experts to slots. Where every expert has a slot, it is its own."""

    def __init__(self, expert_count: int, slot_count: int, policy: EvictionPolicy) -> None:
        self.slot_of: dict[int, int] = {}
        self.expert_count = expert_count
        self.slot_count = slot_count
        self.policy = policy
        self._free = list(range(slot_count - 1, -1, -1))
        self._pins: dict[int, int] = {}  # expert -> how many hold it

    @property
    def complete(self) -> bool:
        """Whether every expert has a slot."""
        return len(self.slot_of) == self.expert_count

    @property
    def pinned(self) -> bool:
        """Whether anything is held."""
        return bool(self._pins)

    @property
    def unpinned(self) -> int:
        """Slots that could be given to other experts."""
        return self.slot_count - len(self._pins)

    def has_room(self, experts: Iterable[int]) -> bool:
        """Whether the slots hold these beside what is pinned."""
        return len(self._pins.keys() | set(experts)) <= self.slot_count

    def reserve(self, expert: int) -> None:
        """Give an expert that has none a slot, and pin it, though nobody asks for it."""
        self._place(expert)
        self.pin([expert])

    def claim(self, experts: Sequence[int]) -> list[int]:
        """Give every one of these distinct experts a slot and pin it; return those that had none.

        All are pinned before any other is evicted. ValueError where the slots cannot hold them
        beside what is already pinned: the caller's groups are too large.
        """
        self._check_room(experts)
        self.policy.touch(experts)
        self.pin(experts)
        absent = [expert for expert in experts if expert not in self.slot_of]
        for expert in absent:
            self._place(expert)
        return absent

    def pin(self, experts: Iterable[int]) -> None:
        """Keep these from eviction until `unpin` has been called as often."""
        for expert in experts:
            self._pins[expert] = self._pins.get(expert, 0) + 1

    def unpin(self, experts: Iterable[int]) -> None:
        """Take back one `pin` of each."""
        for expert in experts:
            left = self._pins[expert] - 1
            if left:
                self._pins[expert] = left
            else:
                del self._pins[expert]

    def drop(self, expert: int) -> None:
        """The expert's slot holds nothing of use any more: free it, with all pins."""
        self._pins.pop(expert, None)
        self._evict(expert)

    def _check_room(self, experts: Sequence[int]) -> None:
        if not self.has_room(experts):
            needed = len(self._pins.keys() | set(experts))
            raise ValueError(f"{needed} experts are needed at once, of {self.slot_count} slots")

    def _place(self, expert: int) -> None:
        if self.slot_count == self.expert_count:
            slot = expert
        else:
            if not self._free:
                self._evict(self.policy.victim(self._pins))
            slot = self._free.pop()
        self.slot_of[expert] = slot
        self.policy.admit(expert)

    def _evict(self, expert: int) -> None:
        self._free.append(self.slot_of.pop(expert))
        self.policy.forget(expert)
