"""DraftKeeper: what stands in the composer, kept while it is typed.

Threading: lives on the UI thread. Written when typing pauses, and when another conversation is
opened; a killed application loses at most what was typed in the last half second.
"""

import sqlite3
from functools import partial

from PySide6.QtCore import QObject, QTimer

from app import conversation_rows
from app.chat_store import ChatStore
from app.conversation import Conversation

PAUSE_MS = 500


class DraftKeeper(QObject):
    """For one composer."""

    def __init__(self, store: ChatStore, parent: QObject) -> None:
        super().__init__(parent)
        self._store = store
        self._pending: tuple[Conversation, str] | None = None
        self._timer = QTimer(self, interval=PAUSE_MS, singleShot=True)
        self._timer.timeout.connect(self.flush)

    def keep(self, conversation: Conversation, text: str) -> None:
        """Keep `text` as the conversation's draft, soon."""
        self._pending = (conversation, text)
        if not self._timer.isActive():
            self._timer.start()

    def forget(self) -> None:
        """The draft was sent."""
        self._pending = None
        self._timer.stop()

    def flush(self) -> None:
        """Write it now."""
        self._timer.stop()
        if self._pending is not None:
            conversation, text = self._pending
            self._pending = None
            self._store.write(partial(_save, conversation, text), lists=True)


def _save(conversation: Conversation, text: str, db: sqlite3.Connection) -> None:
    conversation_rows.keep(db, conversation)
    conversation_rows.set_draft(db, conversation.id, text)
