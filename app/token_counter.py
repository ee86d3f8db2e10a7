"""TokenCounter: how much of the context the shown branch and the draft take.

Threading: lives on the UI thread. The engine counts in its own process and its answers come
later; without a loaded model the length is estimated. The branch is counted anew only when it has
changed, the draft when typing pauses, so that a long conversation costs nothing at every key. An
answer that still grows is estimated.
"""

from collections.abc import Sequence

from PySide6.QtCore import QObject, QTimer, Signal

from app.conversation import Attachment, Message, TokenCount
from app.engine_client import EngineClient
from app.prompt import build_prompt, full_text
from engine.protocol import ChatMessage

PAUSE_MS = 150
_BYTES_A_TOKEN = 4  # in UTF-8; near enough for English, code and Chinese alike

Branch = tuple[object, ...]  # the system prompt and the messages' ids: what tells branches apart


class TokenCounter(QObject):
    """Counts for one composer. Signals: see the comment of each."""

    # TokenCount: the answer to the latest count()
    counted = Signal(object)

    def __init__(self, engine: EngineClient, parent: QObject) -> None:
        super().__init__(parent)
        self._engine = engine
        self._branch: Branch = ()
        self._prompt: tuple[ChatMessage, ...] = ()  # the branch, as far as it has settled
        self._estimate = 0  # of the prompt
        self._growing = 0  # estimate of the answer that still grows
        self._draft = ""
        self._known: dict[object, int] = {}  # exact counts, of this branch and of this draft
        self._asked: dict[str, object] = {}
        self._timer = QTimer(self, interval=PAUSE_MS, singleShot=True)
        self._timer.timeout.connect(self._ask)
        engine.tokens_counted.connect(self._hear)

    def count(
        self,
        system_prompt: str,
        messages: Sequence[Message],
        text: str,
        attachments: Sequence[Attachment],
    ) -> None:
        """Ask for a count of the branch with this draft."""
        settled = [message for message in messages if message.settled]
        branch = (system_prompt, *(message.id for message in settled))
        if branch != self._branch:
            self._branch = branch
            self._prompt = build_prompt(system_prompt, settled)
            self._estimate = sum(estimate(message.content) for message in self._prompt)
        self._growing = sum(estimate(message.text) for message in messages if not message.settled)
        self._draft = full_text(text, attachments)
        self._tell()
        self._timer.start()

    def _ask(self) -> None:
        wanted: dict[object, tuple[ChatMessage, ...]] = {self._branch: self._prompt}
        if self._draft:
            wanted[self._draft] = (ChatMessage("user", self._draft),)
        self._known = {key: self._known[key] for key in wanted if key in self._known}
        self._asked = {f"{id(self)}-{i}": k for i, k in enumerate(wanted) if k not in self._known}
        for ask, key in self._asked.items():
            self._engine.count_tokens(ask, wanted[key])

    def _hear(self, ask: str, count: int) -> None:
        if ask in self._asked:
            self._known[self._asked.pop(ask)] = count
            self._tell()

    def _tell(self) -> None:
        facts = self._engine.state.facts
        draft = self._known.get(self._draft, estimate(self._draft)) if self._draft else 0
        branch = self._known.get(self._branch, self._estimate)
        counted = self._branch in self._known and (not draft or self._draft in self._known)
        self.counted.emit(
            TokenCount(
                draft=draft,
                used=branch + self._growing + draft,
                limit=facts.context_length if facts else None,
                exact=counted and not self._growing,
            )
        )


def estimate(text: str) -> int:
    """About how many tokens `text` has, without a tokenizer."""
    return -(-len(text.encode()) // _BYTES_A_TOKEN)
