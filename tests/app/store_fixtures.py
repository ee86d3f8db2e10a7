"""A database and conversations for tests of the rows."""

import sqlite3
from dataclasses import dataclass, replace

from app import message_rows, turns
from app.conversation import Attachment, Conversation, Message
from app.conversation_rows import new_id
from app.message_tree import MessageTree
from app.turns import Turn


@dataclass
class Chat:
    """One conversation in a database, as a person builds it up."""

    db: sqlite3.Connection
    id: str
    clock: float = 1000.0

    def say(self, text: str, answer: str | None = "Yes.", *attachments: Attachment) -> Turn:
        """A turn, answered unless `answer` is None."""
        self.clock += 1
        conversation = Conversation(self.id, "", created_at=self.clock, updated_at=self.clock)
        turn = turns.add_turn(self.db, conversation, text, attachments, self.clock)
        if answer is not None:
            self.answer(turn.answer_id, answer)
        return turn

    def answer(self, answer_id: str, text: str) -> None:
        """What the engine does."""
        begun = message_rows.begin(self.db, answer_id, "Fake")
        assert begun is not None, "it waits"
        whole = replace(begun.path[-1], text=begun.path[-1].text + text, status="complete")
        message_rows.save_answer(self.db, whole)

    @property
    def tree(self) -> MessageTree:
        return MessageTree(message_rows.read_messages(self.db, self.id))

    @property
    def shown(self) -> tuple[Message, ...]:
        return self.tree.branch()

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.shown]


def new_chat(db: sqlite3.Connection) -> Chat:
    """An empty one."""
    return Chat(db, new_id())
