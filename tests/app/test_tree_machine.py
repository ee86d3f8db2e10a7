"""Random edits, versions, switches, deletions and their undoing: every message stays reachable.

Once on the rows alone, with many steps; once through the controller, the store's threads and an
engine process, with few: there the screen must equal the store.
"""

import itertools
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop

from app import message_rows, turns
from app.conversation import Message
from app.message_tree import MessageTree
from app.schema import STEPS
from app.turns import Turn
from app.workspace import Workspace
from tests.app.conftest import FAKE_ENGINE, Heard
from tests.app.store_fixtures import new_chat
from tests.app.test_chat_controller import Transcript

PICK = st.integers(0, 10**6)
WORDS = st.sampled_from(["a", "b c", "d e f"])


class Rows(RuleBasedStateMachine):
    """Keeps beside the database what must be in it: texts by id, alive or deleted."""

    def __init__(self) -> None:
        super().__init__()
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        self.db.execute("PRAGMA foreign_keys = ON")
        for statement in STEPS[0]:
            self.db.execute(statement)
        self.chat = new_chat(self.db)
        self.alive: dict[str, str] = {}
        self.deleted: dict[str, dict[str, str]] = {}

    def teardown(self) -> None:
        self.db.close()

    def added(self, turn: Turn | None, text: str) -> None:
        if turn is not None:
            self.alive.setdefault(turn.user_id or "", text)
            self.alive[turn.answer_id] = ""

    def pick(self, number: int, fits: Callable[[Message], bool]) -> Message | None:
        found = [m for id in self.alive if fits(m := self.chat.tree.message(id))]
        return found[number % len(found)] if found else None

    @rule(text=WORDS)
    def send(self, text: str) -> None:
        self.added(self.chat.say(text, None), text)

    @rule(number=PICK, text=WORDS)
    def answer(self, number: int, text: str) -> None:
        if message := self.pick(number, lambda m: m.status == "queued"):
            self.chat.answer(message.id, text)
            self.alive[message.id] += text

    @rule(number=PICK, text=WORDS)
    def edit(self, number: int, text: str) -> None:
        if message := self.pick(number, lambda m: m.role == "user"):
            turn = turns.edit_turn(self.db, message.id, text, 1.0)
            self.added(turn, text)
            if turn is None:
                self.alive[message.id] = text

    @rule(number=PICK)
    def regenerate(self, number: int) -> None:
        if message := self.pick(number, lambda m: m.role == "assistant"):
            self.added(turns.add_version(self.db, message.id, 1.0), "")

    @rule(number=PICK)
    def go_on(self, number: int) -> None:
        if message := self.pick(number, lambda m: m.role == "assistant"):
            turns.await_more(self.db, message.id)

    @rule(number=PICK, delta=st.sampled_from([-1, 1]))
    def switch(self, number: int, delta: int) -> None:
        shown = self.chat.shown
        if shown:
            id = shown[number % len(shown)].id
            sibling = self.chat.tree.sibling(id, delta)
            if sibling is not None:
                turns.choose(self.db, [sibling])
                assert sibling in [message.id for message in self.chat.shown]

    @rule(number=PICK)
    def delete(self, number: int) -> None:
        if message := self.pick(number, lambda m: True):
            before = self.ids()
            deletion = turns.delete(self.db, message.id, 1.0)
            gone = before - self.ids()
            assert message.id in gone
            assert deletion.count == len(gone)
            went = [
                id for id in self.alive if id in gone
            ]  # in order, so that a run can be repeated
            self.deleted[deletion.id] = {id: self.alive.pop(id) for id in went}

    @precondition(lambda self: self.deleted)
    @rule(number=PICK)
    def undo(self, number: int) -> None:
        id = list(self.deleted)[number % len(self.deleted)]
        turns.undo_delete(self.db, id)
        self.alive |= self.deleted.pop(id)
        for above in self.ids() - self.alive.keys():  # of other deletions: what it hangs from
            (other,) = (gone for gone in self.deleted.values() if above in gone)
            self.alive[above] = other.pop(above)

    @rule(number=PICK)
    def remove_waiting(self, number: int) -> None:
        if message := self.pick(number, lambda m: m.status == "queued"):
            turns.remove_waiting(self.db, message.id)
            if not message.text:
                self.alive.pop(message.id)
                self.drop_if_gone(message.parent_id or "")

    def drop_if_gone(self, id: str) -> None:
        if not self.db.execute("SELECT 1 FROM message WHERE id = ?", (id,)).fetchall():
            self.alive.pop(id)

    def ids(self) -> set[str]:
        return {s.message.id for s in message_rows.read_messages(self.db, self.chat.id)}

    @invariant()
    def the_store_holds_what_was_said(self) -> None:
        stored = message_rows.read_messages(self.db, self.chat.id)
        assert {s.message.id: s.message.text for s in stored} == self.alive
        assert self.db.execute("PRAGMA foreign_key_check").fetchall() == []

    @invariant()
    def the_shown_branch_is_one_path(self) -> None:
        shown = self.chat.shown
        assert bool(shown) == bool(self.alive)
        for before, after in itertools.pairwise(shown):
            assert after.parent_id == before.id
        assert all(m.sibling_index < m.sibling_count for m in shown)

    @invariant()
    def every_message_can_be_shown(self) -> None:
        tree = self.chat.tree
        for id in self.alive:
            self.db.execute("SAVEPOINT look")
            turns.choose(self.db, [message.id for message in tree.path(id)])
            assert id in [message.id for message in self.chat.shown]
            self.db.execute("ROLLBACK TO look")
            self.db.execute("RELEASE look")


TestRows = Rows.TestCase
TestRows.settings = settings(deadline=None, max_examples=25, stateful_step_count=25)


class Screen(RuleBasedStateMachine):
    """The same through the controller; after each step the screen equals the store."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        script = Path(self.folder.name) / "script.json"
        script.write_text(json.dumps({"answers": [{"text": "re: {echo}"}]}))
        command = [sys.executable, str(FAKE_ENGINE), str(script)]
        self.workspace = Workspace(Path(self.folder.name) / "data", command)
        self.workspace.settings.update(model="/m", titles_by_model=False)
        self.chat = self.workspace.new_chat()
        self.screen = Transcript(self.chat)
        self.failures = Heard(self.chat.failed)
        self.deletions = Heard(self.chat.deleted)
        self.chat.open_new()

    def teardown(self) -> None:
        self.workspace.close()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        self.folder.cleanup()

    def settle(self) -> None:
        """Let everything that was asked for happen: what is written, answered and read."""
        self.pass_through_the_store()
        wait_until(lambda: self.workspace.answers.is_idle)
        self.pass_through_the_store()

    def pass_through_the_store(self) -> None:
        """Jobs are done in order: when ours are, those before them were told."""
        for ask in (self.workspace.store.write, self.workspace.store.read):
            done: list[object] = []
            ask(lambda _: None, done.append)
            wait_until(lambda done=done: done)

    def pick(self, number: int, role: str) -> Message | None:
        found = [message for message in self.chat.messages if message.role == role]
        return found[number % len(found)] if found else None

    @rule(text=WORDS, twice=st.booleans())
    def send(self, text: str, twice: bool) -> None:
        self.chat.send(text)
        if twice:
            self.chat.send(f"{text} too")
        self.settle()

    @rule(number=PICK, text=WORDS)
    def edit(self, number: int, text: str) -> None:
        if message := self.pick(number, "user"):
            self.chat.edit(message.id, text)
            self.settle()

    @rule(number=PICK)
    def regenerate(self, number: int) -> None:
        if message := self.pick(number, "assistant"):
            self.chat.regenerate(message.id)
            self.settle()

    @rule(number=PICK, role=st.sampled_from(["user", "assistant"]), delta=st.sampled_from([-1, 1]))
    def switch(self, number: int, role: str, delta: int) -> None:
        if message := self.pick(number, role):
            self.chat.switch_branch(message.id, delta)
            self.settle()

    @rule(number=PICK, role=st.sampled_from(["user", "assistant"]))
    def delete(self, number: int, role: str) -> None:
        if message := self.pick(number, role):
            self.chat.delete(message.id)
            self.settle()

    @rule()
    def undo(self) -> None:
        if self.deletions.told:
            self.chat.undo_delete(self.deletions.told.pop().id)
            self.settle()

    @invariant()
    def the_screen_equals_the_store(self) -> None:
        if self.chat.conversation is None:
            return
        stored: list[MessageTree] = []
        id = self.chat.conversation.id
        self.workspace.store.read(
            lambda db: MessageTree(message_rows.read_messages(db, id)), stored.append
        )
        wait_until(lambda: stored)
        assert tuple(self.screen.messages) == self.chat.messages == stored[0].branch()
        assert self.screen.texts == [message.text for message in self.chat.messages]
        assert not self.failures.told


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
        time.sleep(0.001)


def test_the_screen_equals_the_store(qapp: QCoreApplication) -> None:
    run_state_machine_as_test(
        Screen, settings=settings(deadline=None, max_examples=6, stateful_step_count=12)
    )
