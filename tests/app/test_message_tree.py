"""Branches, siblings and paths, damaged trees included."""

import pytest

from app.conversation import Message
from app.message_tree import MessageTree, StoredMessage


def stored(id: str, parent: str | None, chosen: int) -> StoredMessage:
    role = "user" if id.startswith("u") else "assistant"
    return StoredMessage(Message(id, "c", parent, role, id), chosen)


@pytest.fixture
def tree() -> MessageTree:
    """u1 was answered twice; the first answer went on, and u2 was edited there."""
    return MessageTree(
        [
            stored("u1", None, 1),
            stored("a1", "u1", 2),
            stored("u2", "a1", 3),
            stored("u2b", "a1", 4),
            stored("a2b", "u2b", 5),
            stored("a1b", "u1", 6),
        ]
    )


def ids(messages: tuple[Message, ...]) -> list[str]:
    return [message.id for message in messages]


def test_the_sibling_chosen_last_is_shown(tree: MessageTree) -> None:
    assert ids(tree.branch()) == ["u1", "a1b"]
    assert (tree.branch()[1].sibling_index, tree.branch()[1].sibling_count) == (1, 2)


def test_a_branch_remembers_what_was_chosen_below_it() -> None:
    chosen = MessageTree(
        [
            stored("u1", None, 1),
            stored("a1", "u1", 7),
            stored("u2", "a1", 4),
            stored("u2b", "a1", 3),
            stored("a1b", "u1", 6),
        ]
    )
    assert ids(chosen.branch()) == ["u1", "a1", "u2"]


def test_siblings_have_places(tree: MessageTree) -> None:
    assert tree.sibling("u2", 1) == "u2b"
    assert tree.sibling("u2b", -1) == "u2"
    assert tree.sibling("u2", -1) is None
    assert tree.sibling("u2b", 1) is None


def test_a_path_leads_to_what_is_not_shown(tree: MessageTree) -> None:
    assert ids(tree.path("u2")) == ["u1", "a1", "u2"]
    assert tree.path("nobody") == ()


def test_an_orphan_is_a_first_message() -> None:
    tree = MessageTree([stored("u1", None, 1), stored("a9", "lost", 2)])
    assert ids(tree.branch()) == ["a9"]
    assert tree.siblings("u1") == ["u1", "a9"]
    assert ids(tree.path("a9")) == ["a9"]


def test_nothing_is_an_empty_branch() -> None:
    assert MessageTree([]).branch() == ()
