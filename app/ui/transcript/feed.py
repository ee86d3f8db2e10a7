"""Feed: carries what the chat tells into the column, and keeps the reader's place.

A conversation is opened where it was left, or at its end. What a person starts (a turn, another
version) is followed; what merely changes leaves the screen where it is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from PySide6.QtCore import QObject

from app.chat_controller import ChatController
from app.conversation import Activity, AnswerDelta, Message, QueuedAnswer
from app.ui.transcript.column import Anchor, Column
from app.ui.transcript.flow import Flow
from app.ui.transcript.page import Page
from app.ui.transcript.pieces import TurnState
from app.ui.transcript.scroller import Scroller
from app.ui.transcript.turn import Turn


class Feed(QObject):
    """Listens to the chat."""

    def __init__(
        self, chat: ChatController, page: Page, column: Column, scroller: Scroller
    ) -> None:
        super().__init__(column)
        self._chat = chat
        self._page = page
        self._column = column
        self._scroller = scroller
        self._flow = Flow(self._grow, self)
        self._conversation = ""
        self._places: dict[str, Anchor | None] = {}
        self._activity = Activity()
        self._queue: dict[str, int] = {}  # place of a message
        self._folds: dict[str, bool] = {}  # of the reasoning, where a person chose
        self._edited = ""  # the message whose words are being changed
        self.reasoning_open = False
        column.state_of = self._state
        self._listen()

    def _listen(self) -> None:
        chat = self._chat
        chat.messages_reset.connect(self._reset)
        chat.branch_changed.connect(self._branch_changed)
        chat.message_changed.connect(self._message_changed)
        chat.answer_grew.connect(self._flow.push)
        chat.activity_changed.connect(self._activity_changed)
        chat.queue_changed.connect(self._queue_changed)
        chat.message_revealed.connect(self.reveal)

    @property
    def place(self) -> Anchor | None:
        """Where the reader is; None at the end."""
        return self._scroller.anchor

    @property
    def is_idle(self) -> bool:
        """Whether all that was told is shown."""
        return self._flow.is_empty

    def reveal(self, message_id: str) -> None:
        """Show a message at the top of the screen."""
        self._scroller.go_to(Anchor(message_id, 0, 0))

    def fold(self, message_id: str) -> None:
        """Fold or unfold the reasoning of an answer."""
        index = self._column.index_of(message_id)
        if index is not None:
            self._folds[message_id] = not self._state(index).reasoning_open
            self._scroller.release()
            self._show([message_id])

    def edit(self, message_id: str) -> None:
        """Let the words of a turn be changed in place; "" ends that."""
        before, self._edited = self._edited, message_id
        self._show([before, message_id])

    def set_reasoning_open(self, is_open: bool) -> None:
        """Whether the reasoning is unfolded where nobody chose."""
        self.reasoning_open = is_open
        self._show(turn.message.id for turn in self._column.turns)

    def waits(self, message_id: str) -> bool:
        """Whether a turn's answer was not begun yet."""
        index = self._column.index_of(message_id)
        return index is not None and self._state(index).waits

    # What the chat tells

    def _reset(self, messages: Sequence[Message]) -> None:
        self._flow.drop()
        if self._conversation:
            self._places[self._conversation] = self._scroller.anchor
        conversation = self._chat.conversation
        self._conversation = conversation.id if conversation else ""
        self._edited = ""
        self._replace(0, messages)
        self._page.formulas.forget()
        self._scroller.open_at(self._places.get(self._conversation))

    def _branch_changed(self, index: int, messages: Sequence[Message]) -> None:
        self._flow.flush()
        known = {turn.message.id for turn in self._column.turns}
        begun = any(not m.settled and m.id not in known for m in messages)
        self._replace(index, messages)
        if begun:
            self._scroller.follow()
        else:
            self._scroller.arrange()

    def _message_changed(self, message: Message) -> None:
        self._flow.flush()
        index = self._column.index_of(message.id)
        if index is not None:
            self._column.turns[index].update(message, self._column.width)
            self._column.refresh(index)
            self._show_from(max(index - 1, 0), index + 1)
            self._scroller.arrange()

    def _grow(self, delta: AnswerDelta) -> None:
        index = self._column.index_of(delta.message_id)
        if index is not None:
            self._column.turns[index].grow(delta, self._column.width)
            self._column.refresh(index)
            self._scroller.arrange()

    def _activity_changed(self, activity: Activity) -> None:
        before, self._activity = self._activity, activity
        self._show([before.message_id, activity.message_id])

    def _queue_changed(self, queue: Sequence[QueuedAnswer]) -> None:
        before = self._queue
        self._queue = {answer.message_id: answer.place for answer in queue}
        self._show([*before, *self._queue])

    # How turns are shown

    def _replace(self, start: int, messages: Sequence[Message]) -> None:
        self._column.replace(start, [Turn(message, self._page) for message in messages])
        self._show_from(max(start - 2, 0), start)

    def _show(self, message_ids: Iterable[str | None]) -> None:
        """Show these turns, and those before them, as they stand."""
        for message_id in message_ids:
            index = self._column.index_of(message_id or "")
            if index is not None:
                self._show_from(max(index - 1, 0), index + 1)
        self._scroller.arrange()

    def _show_from(self, start: int, end: int) -> None:
        for index in range(start, end):
            self._column.update_state(index)

    def _state(self, index: int) -> TurnState:
        turns = self._column.turns
        turn, message_id = turns[index], turns[index].message.id
        following = turns[index + 1].message if index + 1 < len(turns) else None
        return replace(
            turn.state,
            reasoning_open=self._folds.get(message_id, self.reasoning_open),
            editing=message_id == self._edited,
            is_last=following is None or (following.role == "user" and index == len(turns) - 2),
            waits=following is not None and following.status == "queued",
            activity=self._activity_of(message_id),
        )

    def _activity_of(self, message_id: str) -> Activity | None:
        if self._activity.message_id == message_id:
            return self._activity
        place = self._queue.get(message_id)
        return Activity("queued", message_id, place) if place else None
