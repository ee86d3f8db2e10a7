"""TitleWriter: lets the model name a conversation, when it has nothing else to do.

Threading: lives on the UI thread. Only for conversations whose first answer ended in this run of
the application, that have no name yet, with the model that is loaded anyway. The moment somebody
wants an answer, the naming ends. A name given by hand is never replaced: the store sees to that.
"""

import re
import uuid
from collections import deque
from functools import partial

from PySide6.QtCore import QObject, QTimer

from app import conversation_rows
from app.answer_queue import AnswerQueue
from app.chat_store import ChatStore
from app.conversation import Failure, Message
from app.engine_client import EngineClient
from app.installed_models import DEMO
from app.open_chat import OpenChat, read_chat
from app.settings_store import SettingsStore
from engine import protocol as wire
from engine.options import GenerationOptions
from engine.protocol import ChatMessage

IDLE_MS = 1500
LONGEST_TITLE = 60
_EXCERPT_CHARACTERS = 1500
_OPTIONS = GenerationOptions(temperature=0.0, max_tokens=24, thinking=False)
_REQUEST = (
    "Name the following conversation in at most six words, in its own language. Answer with the"
    " name alone, without quotation marks.\n\n"
)


class TitleWriter(QObject):
    """Works by itself until it is closed."""

    def __init__(
        self, store: ChatStore, engine: EngineClient, answers: AnswerQueue, settings: SettingsStore
    ) -> None:
        super().__init__()
        self._store = store
        self._engine = engine
        self._answers = answers
        self._settings = settings
        self._nameless: deque[str] = deque()
        self._current: str | None = None  # the conversation that is being named
        self._generation_id = ""
        self._text = ""
        self._timer = QTimer(self, interval=IDLE_MS, singleShot=True)
        self._timer.timeout.connect(self._begin)
        answers.answer_ended.connect(self._answer_ended)
        answers.queue_changed.connect(self._queue_changed)
        engine.generation_event.connect(self._hear)
        engine.generation_failed.connect(self._failed)

    def close(self) -> None:
        """Name nothing any more."""
        self._nameless.clear()
        self._timer.stop()

    def _answer_ended(self, answer: Message) -> None:
        if answer.status == "complete" and self._settings.settings.titles_by_model:
            if answer.conversation_id not in self._nameless:
                self._nameless.append(answer.conversation_id)
            self._timer.start()

    def _queue_changed(self, _: object) -> None:
        if self._answers.is_idle:
            self._timer.start()
            return
        self._timer.stop()
        if self._current is not None:
            self._engine.cancel(self._generation_id)

    def _begin(self) -> None:
        if self._is_free() and self._nameless:
            self._store.read(partial(read_chat, id=self._nameless.popleft()), self._ask)

    def _is_free(self) -> bool:
        state = self._engine.state
        able = state.model == "loaded" and state.model_path != str(DEMO)  # too small to name things
        return able and state.answering is None and self._answers.is_idle

    def _ask(self, chat: OpenChat | None) -> None:
        if chat is None or chat.conversation.title_source != "none":
            self._timer.start()
            return
        if not self._is_free():
            self._nameless.appendleft(chat.conversation.id)
            return
        self._current = chat.conversation.id
        self._generation_id, self._text = uuid.uuid4().hex, ""
        self._engine.generate(self._generation_id, title_prompt(chat.branch), _OPTIONS)

    def _hear(self, id: str, event: wire.Event) -> None:
        if id != self._generation_id or self._current is None:
            return
        if isinstance(event, wire.Text):
            self._text += event.text
        elif isinstance(event, wire.Finished):
            self._end(event.reason != "cancelled")

    def _failed(self, id: str, _failure: Failure, _died: bool) -> None:
        if id == self._generation_id and self._current is not None:
            self._current = None

    def _end(self, whole: bool) -> None:
        conversation_id, self._current = self._current, None
        title = clean_title(self._text)
        if not whole:
            self._nameless.append(conversation_id or "")
        elif conversation_id and title:
            name = partial(conversation_rows.name_by_model, id=conversation_id, title=title)
            self._store.write(name, lists=True)
        self._timer.start()


def title_prompt(branch: tuple[Message, ...]) -> tuple[ChatMessage, ...]:
    """What the model is asked: the first turn and its answer, without reasoning."""
    turns = [f"{m.role}: {m.text[:_EXCERPT_CHARACTERS]}" for m in branch[:2]]
    return (ChatMessage("user", _REQUEST + "\n\n".join(turns)),)


def clean_title(text: str) -> str:
    """A name from what the model said: the first line, without markup, quotes or a full stop."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    line = re.sub(r"^\s*(title|name)\s*:\s*", "", re.sub(r"[*_`#]+", "", line), flags=re.I)
    line = " ".join(line.split()).strip(" \"'“”„«».")
    return line if len(line) <= LONGEST_TITLE else conversation_rows.first_words(line)
