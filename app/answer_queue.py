"""AnswerQueue: every answer that waits or runs, one at a time, whatever is on the screen.

Threading: lives on the UI thread. A turn is committed with its answer as "queued" first; then the
answer is put here, and runs (`AnswerRun`) when its turn comes and the engine is free.
"""

from collections import deque
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from app import message_rows
from app.answer_run import AnswerRun
from app.chat_store import ChatStore
from app.conversation import Activity, Failure, Message, QueuedAnswer
from app.engine_client import EngineClient
from app.settings_store import SettingsStore
from app.turns import Turn

IDLE = Activity()


class AnswerQueue(QObject):
    """First come, first served. Signals: see the comment of each."""

    # tuple[QueuedAnswer, ...]: what runs (place 0) and what waits
    queue_changed = Signal(object)
    # str: the activity of this conversation changed
    activity_changed = Signal(str)
    # AnswerDelta: more of the running answer
    answer_grew = Signal(object)
    # Message: the running answer began, or got its final form
    answer_changed = Signal(object)
    # Message: an answer's final form is on the disk
    answer_ended = Signal(object)

    def __init__(self, store: ChatStore, engine: EngineClient, settings: SettingsStore) -> None:
        super().__init__()
        self._store = store
        self._engine = engine
        self._settings = settings
        self._waiting: deque[QueuedAnswer] = deque()
        self._running: AnswerRun | None = None
        self._in_trouble = False  # the last write failed, and that was told
        self._pump_timer = QTimer(self, interval=0, singleShot=True)
        self._pump_timer.timeout.connect(self._pump)
        engine.state_changed.connect(self._pump_timer.start)

    @property
    def is_idle(self) -> bool:
        """Nothing runs or waits."""
        return self._running is None and not self._waiting

    @property
    def answers(self) -> tuple[QueuedAnswer, ...]:
        """What runs (place 0) and what waits."""
        run = self._running
        first = [QueuedAnswer(run.conversation_id, run.message_id, 0)] if run else []
        waiting = [replace(q, place=place) for place, q in enumerate(self._waiting, start=1)]
        return (*first, *waiting)

    def activity(self, conversation_id: str) -> Activity:
        """What happens to this conversation's running answer, or else to its first waiting one."""
        run = self._running
        if run is not None and run.conversation_id == conversation_id:
            return run.activity
        mine = (q for q in self.answers if q.conversation_id == conversation_id)
        return next((Activity("queued", q.message_id, q.place) for q in mine), IDLE)

    def live(self, message_id: str) -> Message | None:
        """The answer as it stands in memory, if it runs: newer than what is on the disk."""
        run = self._running
        return run.message if run is not None and run.message_id == message_id else None

    def enqueue(self, conversation_id: str, message_id: str) -> None:
        """Have an answer made that is committed as "queued"."""
        self._waiting.append(QueuedAnswer(conversation_id, message_id, 0))
        self._tell_queue(conversation_id)
        self._pump_timer.start()

    def enqueue_turn(self, turn: Turn | None) -> None:
        """The same for what `app.turns` made; nothing for a change that needs no answer."""
        if turn is not None:
            self.enqueue(turn.conversation_id, turn.answer_id)

    def stop(self, conversation_id: str) -> None:
        """End the running answer of this conversation; if none runs, those that wait."""
        if self._running is not None and self._running.conversation_id == conversation_id:
            self._running.stop()
        else:
            self.drop_waiting(conversation_id)

    def drop_waiting(self, conversation_id: str) -> None:
        """What waits in this conversation will not be answered."""
        for queued in tuple(self._waiting):
            if queued.conversation_id == conversation_id:
                self._drop(queued)

    def end(self, message_id: str) -> None:
        """This answer is not wanted any more, whether it runs or waits."""
        if self._running is not None and self._running.message_id == message_id:
            self._running.stop()
        for queued in tuple(self._waiting):
            if queued.message_id == message_id:
                self._drop(queued)

    def forget(self, message_id: str | None) -> None:
        """An answer that waited was taken out of the conversation."""
        for queued in tuple(self._waiting):
            if queued.message_id == message_id:
                self._waiting.remove(queued)
                self._tell_queue(queued.conversation_id)

    def close(self) -> None:
        """Have the running answer's text written. The store is closed after this."""
        self._pump_timer.stop()
        if self._running is not None:
            self._running.close()

    def _drop(self, queued: QueuedAnswer) -> None:
        self.forget(queued.message_id)
        settle = partial(message_rows.settle, answer_id=queued.message_id, status="stopped")
        self._store.write(settle, touches=queued.conversation_id)

    def _pump(self) -> None:
        """Let the next one run, if the engine is free."""
        if self._running or not self._waiting or self._engine.gave_up:
            return
        queued = self._waiting.popleft()
        run = AnswerRun(
            queued.conversation_id,
            queued.message_id,
            self._store,
            self._engine,
            self._settings.settings,
            self,
        )
        self._running = run
        run.activity_changed.connect(partial(self.activity_changed.emit, run.conversation_id))
        run.grew.connect(self.answer_grew)
        run.changed.connect(self.answer_changed)
        run.ended.connect(self._ended)
        run.put_back.connect(self._put_back)
        run.not_written.connect(self._not_written)
        run.written.connect(self._written)
        self._tell_queue(run.conversation_id)
        run.start()

    def _ended(self, message: Message | None) -> None:
        run = self._release()
        self._tell_queue(run.conversation_id)
        if message is not None:
            self.answer_ended.emit(message)

    def _put_back(self) -> None:
        run = self._release()
        self._waiting.appendleft(QueuedAnswer(run.conversation_id, run.message_id, 0))
        self._tell_queue(run.conversation_id)

    def _release(self) -> AnswerRun:
        run, self._running = self._running, None
        assert run is not None, "only a run that was begun here ends"
        run.deleteLater()
        self._pump_timer.start()
        return run

    def _not_written(self, failure: Failure) -> None:
        """Told once, until a write succeeds again."""
        if not self._in_trouble:
            self._in_trouble = True
            self._store.failed.emit(failure)

    def _written(self) -> None:
        self._in_trouble = False

    def _tell_queue(self, conversation_id: str) -> None:
        self.queue_changed.emit(self.answers)
        self.activity_changed.emit(conversation_id)
