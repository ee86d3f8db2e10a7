"""AnswerRun: one answer from the moment its turn comes until its final form is on the disk.

Threading: lives on the UI thread; store and engine answer through callbacks and signals there.

The model is loaded if need be -> "streaming" is committed and the branch read -> the engine is
asked -> deltas are told, and written at least every half second -> the final form is committed.
What cannot be written (a full disk) stays in memory and is tried again until it is.
"""

import uuid
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from app import message_rows
from app.answer import GrowingAnswer
from app.chat_store import ChatStore
from app.conversation import Activity, Conversation, Failure, Message, MessageStatus, Phase
from app.conversation_rows import read_conversation
from app.engine_client import EngineClient
from app.message_rows import Begun
from app.prompt import build_prompt
from app.settings import Settings, resolve
from engine import protocol as wire
from engine.errors import BadOption

FLUSH_MS = 250  # half of what may be lost, so that a slow write still keeps the promise
RETRY_MS = 1000
STOP_WITHIN_MS = 5000  # then the engine is ended

_NO_MODEL = Failure("ModelNotFound", "No model is chosen.", "Choose one in the toolbar.")
_CLOSED = Failure(
    "Interrupted", "Martlet was closed while this was being answered.", "Continue, or answer again."
)


class AnswerRun(QObject):
    """One answer. Signals: see the comment of each."""

    # `activity` changed
    activity_changed = Signal()
    # AnswerDelta: more of it
    grew = Signal(object)
    # Message: it began, or got its final form
    changed = Signal(object)
    # Message or None: it is over; the final form is on the disk, if the engine ever began with it
    ended = Signal(object)
    # its turn must come again later: the engine or the store is not up to it
    put_back = Signal()
    # Failure: it cannot be written for now; kept in memory, and tried again
    not_written = Signal(object)
    # it can be written again
    written = Signal()

    def __init__(
        self,
        conversation_id: str,
        message_id: str,
        store: ChatStore,
        engine: EngineClient,
        settings: Settings,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self.conversation_id = conversation_id
        self.message_id = message_id
        loaded = engine.state.model == "loaded"
        self.activity = Activity("reading" if loaded else "loading", message_id)
        self._store = store
        self._engine = engine
        self._settings = settings
        self._id = uuid.uuid4().hex
        self._model_path = ""
        self._asked_to_load = False
        self._beginning = False  # the engine has the model; from here on it ends by settling
        self._answer: GrowingAnswer | None = None
        self._writing = False
        self._left = False
        self._flush_timer = QTimer(self, interval=FLUSH_MS)
        self._flush_timer.timeout.connect(self._flush)
        self._stop_timer = QTimer(self, interval=STOP_WITHIN_MS, singleShot=True)
        self._stop_timer.timeout.connect(engine.kill)
        self._follow_timer = QTimer(self, interval=0, singleShot=True)
        self._follow_timer.timeout.connect(self._follow_load)
        engine.state_changed.connect(self._follow_timer.start)
        engine.generation_event.connect(self._hear)
        engine.generation_failed.connect(self._fail)
        engine.load_failed.connect(self._load_failed)

    @property
    def message(self) -> Message | None:
        """The message as it stands in memory; None before the engine began with it."""
        return None if self._answer is None else self._answer.message

    def start(self) -> None:
        """Its turn has come."""
        read = partial(read_conversation, id=self.conversation_id)
        self._store.read(read, self._load, self._cannot_begin)

    def stop(self) -> None:
        """The person wants no more of it."""
        if not self._beginning:
            self._end_unbegun("stopped")
        elif self.activity.phase != "stopping":
            self._set_phase("stopping")
            self._engine.cancel(self._id)
            self._stop_timer.start()

    def close(self) -> None:
        """The application closes: write what there is. Nothing is told any more."""
        self._leave()
        if self._answer is not None and not self._answer.settled:
            self._answer.settle("interrupted", _CLOSED, None)
            self._store.write(partial(message_rows.save_answer, answer=self._answer.message))

    # Beginning

    def _load(self, conversation: Conversation | None) -> None:
        if self._left:
            return
        chosen = conversation.model if conversation else ""
        self._model_path = chosen or self._settings.model
        if self._model_path:
            self._follow_load()
        else:
            self._end_unbegun("failed", _NO_MODEL)

    def _follow_load(self) -> None:
        """Look at the engine's state and take the next step towards a loaded model."""
        if self._beginning or not self._model_path:
            return
        state = self._engine.state
        if self._has_model():
            self._begin()
        elif self._engine.gave_up:
            self._leave()
            self.put_back.emit()
        elif self._asked_to_load and state.process == "ending":
            pass  # in place of another model, or because the person unloads it: see what follows
        elif self._asked_to_load and state.process == "stopped" and state.death is None:
            self._end_unbegun("stopped")  # it was unloaded
        else:
            self._asked_to_load = True
            self._engine.load(self._model_path, self._settings.memory_bytes)
            self._set_phase("loading", load_fraction=self._engine.state.load_fraction)

    def _has_model(self) -> bool:
        state = self._engine.state
        ready = state.process == "running" and state.model == "loaded"
        return ready and state.model_path == self._model_path

    def _begin(self) -> None:
        if self._engine.state.answering is not None:
            return  # a title is being made, and was told to end
        self._beginning = True
        facts = self._engine.state.facts
        name = facts.name if facts else ""
        begin = partial(message_rows.begin, answer_id=self.message_id, model=name)
        self._store.write(begin, self._ask, self._cannot_begin)

    def _cannot_begin(self, failure: Failure) -> None:
        if not self._left:
            self._leave()
            self._beginning = False
            self.not_written.emit(failure)
            QTimer.singleShot(RETRY_MS, self, self.put_back.emit)

    def _ask(self, begun: Begun | None) -> None:
        """Its turn is committed: have the engine answer."""
        self.written.emit()
        if begun is None:
            self._end_unbegun("stopped")  # it was deleted in the meantime
            return
        self._answer = GrowingAnswer(begun.path[-1], self._id)
        self.changed.emit(self._answer.message)
        if self.activity.phase == "stopping":
            self._settle("stopped")
        elif not self._has_model():
            self._settle("interrupted", Failure("EngineDied", "The engine stopped."))
        else:
            self._generate(begun)

    def _generate(self, begun: Begun) -> None:
        try:
            resolved = resolve(self._settings, begun.conversation.overrides)
        except BadOption as error:
            self._settle("failed", Failure("BadOption", error.message, error.remedy))
            return
        if self._engine.state.serving.answering:
            self._set_phase("queued", place=1)  # the engine ends another program's answer first
        else:
            self._set_phase("reading")
        self._flush_timer.start()
        prompt = build_prompt(resolved.system_prompt, begun.path)
        self._engine.generate(self._id, prompt, resolved.options, self.conversation_id)

    # Growing

    def _hear(self, id: str, event: wire.Event) -> None:
        if id != self._id or self._answer is None or self._answer.settled:
            return
        match event:
            case wire.Prefill():
                self._set_phase("reading", prompt_done=event.done, prompt_total=event.total)
            case wire.Text() | wire.Reasoning():
                self._set_phase("answering" if isinstance(event, wire.Text) else "thinking")
                self.grew.emit(self._answer.grow(event))
            case wire.Finished():
                status: MessageStatus = "stopped" if event.reason == "cancelled" else "complete"
                self._settle(status, finished=event)

    def _flush(self) -> None:
        answer = self._answer
        if answer is None or not answer.dirty or self._writing:
            return
        answer.dirty, self._writing = False, True
        save = partial(message_rows.save_growth, answer=answer.message)
        self._store.write(save, self._flushed, self._flush_failed)

    def _flushed(self, _: None) -> None:
        self._writing = False
        self.written.emit()

    def _flush_failed(self, failure: Failure) -> None:
        self._writing = False
        if self._answer is not None:
            self._answer.dirty = True
        self.not_written.emit(failure)

    # Ending

    def _fail(self, id: str, failure: Failure, died: bool) -> None:
        if id != self._id or self._answer is None or self._answer.settled:
            return
        if self.activity.phase == "stopping":
            self._settle("stopped")
        else:
            self._settle("interrupted" if died else "failed", failure)

    def _load_failed(self, failure: Failure) -> None:
        if self._asked_to_load and not self._beginning:
            self._end_unbegun("failed", failure)

    def _settle(
        self,
        status: MessageStatus,
        error: Failure | None = None,
        finished: wire.Finished | None = None,
    ) -> None:
        assert self._answer is not None, "only what has begun settles"
        self._leave()
        self._answer.settle(status, error, finished)
        self.changed.emit(self._answer.message)
        self._save_settled(self._answer.message)

    def _save_settled(self, answer: Message) -> None:
        save = partial(message_rows.save_answer, answer=answer)
        again = partial(self._settle_failed, answer)
        self._store.write(save, self._settled, again, touches=self.conversation_id, durable=True)

    def _settled(self, _: None) -> None:
        self.written.emit()
        self.ended.emit(self.message)

    def _settle_failed(self, answer: Message, failure: Failure) -> None:
        self.not_written.emit(failure)
        QTimer.singleShot(RETRY_MS, self, partial(self._save_settled, answer))

    def _end_unbegun(self, status: MessageStatus, error: Failure | None = None) -> None:
        """The person or a failed load ends it before the engine began with it."""
        self._leave()
        settle = partial(message_rows.settle, answer_id=self.message_id, status=status, error=error)
        self._store.write(settle, touches=self.conversation_id)
        self.ended.emit(None)

    def _leave(self) -> None:
        """Listen to the engine no longer."""
        if self._left:
            return
        self._left = True
        self._flush_timer.stop()
        self._stop_timer.stop()
        self._follow_timer.stop()
        self._engine.state_changed.disconnect(self._follow_timer.start)
        self._engine.generation_event.disconnect(self._hear)
        self._engine.generation_failed.disconnect(self._fail)
        self._engine.load_failed.disconnect(self._load_failed)

    def _set_phase(self, phase: Phase, **more: Any) -> None:
        if self.activity.phase == "stopping":
            return  # deltas may still come; it stays "stopping"
        activity = Activity(phase, self.message_id, **more)
        if activity != self.activity:
            self.activity = activity
            self.activity_changed.emit()
