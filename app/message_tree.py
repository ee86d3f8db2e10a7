"""MessageTree: all messages of a conversation, and which branch of them is shown.

Edit and regenerate add siblings; nothing is replaced. Which sibling is shown is a fact of the
sibling alone: of those under one parent it is the one that was chosen last. So there is no pointer
that could dangle: when a chosen message is deleted, the one chosen before it is shown again.
Pure values; knows neither SQLite nor Qt.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from app.conversation import Message


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as it lies in the store. Of siblings, the one with the largest `chosen` shows."""

    message: Message  # without its place among siblings
    chosen: int


class MessageTree:
    """Made from a conversation's stored messages in the order in which they were written."""

    def __init__(self, stored: Iterable[StoredMessage]) -> None:
        self._stored = {s.message.id: s for s in stored}
        self._children: dict[str | None, list[str]] = defaultdict(list)
        for id, s in self._stored.items():
            parent = s.message.parent_id
            known = parent is None or parent in self._stored
            self._children[parent if known else None].append(id)  # an orphan stays readable

    def __contains__(self, id: object) -> bool:
        return id in self._stored

    def branch(self) -> tuple[Message, ...]:
        """The messages shown, first one first."""
        return tuple(self._walk(None))

    def message(self, id: str) -> Message:
        """A message with its place among its siblings. Raises KeyError."""
        message = self._stored[id].message
        siblings = self.siblings(id)
        if len(siblings) == 1:
            return message
        return replace(message, sibling_index=siblings.index(id), sibling_count=len(siblings))

    def siblings(self, id: str) -> list[str]:
        """The versions of this turn, this one included, oldest first."""
        parent = self._stored[id].message.parent_id
        return self._children[parent if parent in self._stored else None]

    def sibling(self, id: str, delta: int) -> str | None:
        """The version `delta` places further; None where there is none."""
        siblings = self.siblings(id)
        index = siblings.index(id) + delta
        return siblings[index] if 0 <= index < len(siblings) else None

    def path(self, id: str) -> tuple[Message, ...]:
        """From the first message down to this one, whatever is shown."""
        found: list[Message] = []
        next_id: str | None = id
        while next_id in self._stored:
            found.append(self._stored[next_id].message)
            next_id = found[-1].parent_id
        return tuple(reversed(found))

    def _walk(self, parent: str | None) -> Iterator[Message]:
        while ids := self._children.get(parent):
            parent = max(ids, key=lambda id: self._stored[id].chosen)
            yield self.message(parent)
