"""GrowingAnswer: the text of the answer that is being generated, in memory.

Threading: lives on the UI thread. Texts are kept in pieces and joined when they are asked for, so
that a long answer costs nothing per token.
"""

import time
from dataclasses import replace

from app.conversation import AnswerDelta, Failure, Message, MessageStatus
from engine import protocol as wire


class GrowingAnswer:
    """Grows from `message` as it stood in the store: empty, or with text to be continued."""

    def __init__(self, message: Message, generation_id: str) -> None:
        self.settled = False
        self.dirty = False  # grew since somebody last set this to False
        self._generation_id = generation_id
        self._message = replace(message, status="streaming", error=None, finish_reason=None)
        self._text = [message.text]
        self._reasoning = [message.reasoning]
        self._thinking_since: float | None = None

    @property
    def message(self) -> Message:
        """The message as it stands now."""
        self._text, self._reasoning = ["".join(self._text)], ["".join(self._reasoning)]
        return replace(self._message, text=self._text[0], reasoning=self._reasoning[0])

    def grow(self, event: wire.Text | wire.Reasoning) -> AnswerDelta:
        """Take in more of it."""
        self.dirty = True
        reasoning, text = "", ""
        if isinstance(event, wire.Reasoning):
            reasoning = event.text
            self._reasoning.append(reasoning)
            self._thinking_since = self._thinking_since or time.monotonic()
        else:
            text = event.text
            self._text.append(text)
            self._end_thinking()
        m = self._message
        return AnswerDelta(m.conversation_id, m.id, self._generation_id, reasoning, text)

    def settle(
        self, status: MessageStatus, error: Failure | None, finished: wire.Finished | None
    ) -> None:
        """Give it its final form."""
        self.settled = True
        self._end_thinking()
        self._message = replace(
            self._message,
            status=status,
            error=error,
            finish_reason=finished.reason if finished else None,
            stats=finished.stats if finished else None,
        )

    def _end_thinking(self) -> None:
        if self._thinking_since is not None:
            thought_s = (self._message.reasoning_s or 0.0) + time.monotonic() - self._thinking_since
            self._message = replace(self._message, reasoning_s=thought_s)
            self._thinking_since = None
