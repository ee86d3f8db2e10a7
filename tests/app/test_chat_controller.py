"""What the transcript is told equals what the store holds; nothing typed is lost."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app import message_rows
from app.chat_controller import ChatController
from app.conversation import Attachment, Message
from app.message_tree import MessageTree
from app.settings import Overrides, Sampling
from app.workspace import Workspace
from tests.app.conftest import Heard, WaitFor

Make = Callable[..., Workspace]


class Transcript:
    """A minimal screen: does with each signal what its comment in the controller says."""

    def __init__(self, chat: ChatController) -> None:
        self.messages: list[Message] = []
        self.grown: dict[str, str] = {}
        chat.messages_reset.connect(self._reset)
        chat.branch_changed.connect(self._changed)
        chat.message_changed.connect(self._replace)
        chat.answer_grew.connect(self._grow)

    def _reset(self, messages: tuple[Message, ...]) -> None:
        self.messages = list(messages)
        self.grown = {m.id: m.text for m in messages}

    def _changed(self, index: int, messages: tuple[Message, ...]) -> None:
        assert 0 <= index <= len(self.messages)
        self.messages[index:] = messages
        self.grown |= {m.id: m.text for m in messages}

    def _replace(self, message: Message) -> None:
        (index,) = (i for i, m in enumerate(self.messages) if m.id == message.id)
        self.messages[index] = message
        self.grown[message.id] = message.text

    def _grow(self, delta: object) -> None:
        self.grown[delta.message_id] += delta.text

    @property
    def texts(self) -> list[str]:
        return [self.grown[message.id] for message in self.messages]


@pytest.fixture
def workspace(make_workspace: Make) -> Workspace:
    return make_workspace({"answers": [{"text": ["re: ", "{echo}"]}]})


@pytest.fixture
def chat(workspace: Workspace) -> ChatController:
    chat = workspace.new_chat()
    chat.open_new()
    return chat


def say(chat: ChatController, wait_for: WaitFor, *texts: str) -> None:
    for text in texts:
        before = len(chat.messages)
        chat.send(text)
        wait_for(lambda before=before: len(chat.messages) == before + 2)
        wait_for(lambda: chat.messages[-1].settled)


def texts(chat: ChatController) -> list[str]:
    return [message.text for message in chat.messages]


def test_the_screen_is_told_all(
    workspace: Workspace, chat: ChatController, wait_for: WaitFor
) -> None:
    screen = Transcript(chat)
    say(chat, wait_for, "one", "two")
    chat.edit(chat.messages[0].id, "uno")
    wait_for(lambda: len(screen.messages) == 2 and screen.messages[1].settled)
    assert screen.messages == list(chat.messages)
    assert screen.texts == texts(chat) == ["uno", "re: uno"]
    assert (screen.messages[0].sibling_index, screen.messages[0].sibling_count) == (1, 2)
    chat.switch_branch(screen.messages[0].id, -1)
    wait_for(lambda: len(screen.messages) == 4)
    assert screen.texts == ["one", "re: one", "two", "re: two"]
    chat.switch_branch(screen.messages[0].id, -1)
    chat.regenerate(screen.messages[3].id)
    wait_for(lambda: screen.messages[3].sibling_count == 2 and screen.messages[3].settled)
    assert screen.messages == list(chat.messages)


def test_opening_tells_everything(
    workspace: Workspace, chat: ChatController, wait_for: WaitFor
) -> None:
    say(chat, wait_for, "one")
    other = workspace.new_chat()
    screen, conversation = Transcript(other), Heard(other.conversation_changed)
    activity, drafts = Heard(other.activity_changed), Heard(other.draft_restored)
    other.open(chat.conversation.id)
    wait_for(lambda: drafts.told)
    assert screen.messages == list(chat.messages)
    assert conversation.last.title == "one"
    assert activity.last.phase == "idle"


def test_two_windows_show_the_same(
    workspace: Workspace, chat: ChatController, wait_for: WaitFor
) -> None:
    say(chat, wait_for, "one")
    other = workspace.new_chat()
    screen = Transcript(other)
    other.open(chat.conversation.id)
    wait_for(lambda: screen.messages)
    say(chat, wait_for, "two")
    other.edit(other.messages[0].id, "uno")
    wait_for(lambda: len(chat.messages) == 2 and chat.messages[1].settled)
    wait_for(lambda: screen.messages == list(chat.messages))
    assert screen.texts == ["uno", "re: uno"]


def test_a_conversation_that_is_gone_is_told(chat: ChatController, wait_for: WaitFor) -> None:
    failed = Heard(chat.failed)
    chat.open("nobody")
    wait_for(lambda: failed.told)
    assert failed.last.kind == "NotFound"
    assert chat.conversation is not None


def test_only_the_last_opened_is_shown(
    workspace: Workspace, chat: ChatController, wait_for: WaitFor
) -> None:
    ids = []
    for text in ("one", "two", "three"):
        chat.open_new()
        say(chat, wait_for, text)
        ids.append(chat.conversation.id)
    reset = Heard(chat.messages_reset)
    for id in ids:
        chat.open(id)
    chat.open(ids[0])
    wait_for(lambda: chat.conversation.id == ids[0])
    assert [messages[0].text for messages in reset.told] == ["one"]


def test_delete_and_undo(chat: ChatController, wait_for: WaitFor) -> None:
    say(chat, wait_for, "one", "two")
    deleted = Heard(chat.deleted)
    chat.delete(chat.messages[1].id)
    wait_for(lambda: len(chat.messages) == 1 and deleted.told)
    assert deleted.last.count == 3
    chat.undo_delete(deleted.last.id)
    wait_for(lambda: len(chat.messages) == 4)


def test_deleting_what_runs_stops_it(make_workspace: Make, wait_for: WaitFor) -> None:
    slow = {"text": ["a "] * 10_000, "delay_s": 0.01}
    workspace = make_workspace({"answers": [slow]})
    chat = workspace.new_chat()
    chat.open_new()
    chat.send("one")
    chat.send("two")
    wait_for(lambda: len(chat.messages) == 4 and chat.messages[1].text)
    chat.delete(chat.messages[0].id)
    wait_for(lambda: not chat.messages and workspace.answers.is_idle)


def test_waiting_turns_are_edited_and_removed(make_workspace: Make, wait_for: WaitFor) -> None:
    slow = {"text": ["a "] * 10_000, "delay_s": 0.01}
    workspace = make_workspace({"answers": [{**slow, "match": "one"}, {"text": "fine"}]})
    chat = workspace.new_chat()
    chat.open_new()
    for text in ("one", "tpyo", "not this"):
        chat.send(text)
    wait_for(lambda: len(chat.messages) == 6 and chat.messages[1].text)
    chat.edit(chat.messages[2].id, "typo")
    chat.remove_queued(chat.messages[4].id)
    wait_for(lambda: len(chat.messages) == 4 and chat.messages[2].text == "typo")
    assert len(workspace.answers.answers) == 2
    chat.stop()
    wait_for(lambda: chat.messages[-1].settled)
    assert texts(chat)[2:] == ["typo", "fine"]


def test_what_is_found_on_a_hidden_branch_is_revealed(
    workspace: Workspace, chat: ChatController, wait_for: WaitFor
) -> None:
    say(chat, wait_for, "one", "two")
    hidden = chat.messages[3].id
    chat.edit(chat.messages[2].id, "2b")
    wait_for(lambda: chat.messages[2].text == "2b" and chat.messages[3].settled)
    chat.edit(chat.messages[0].id, "1b")
    wait_for(lambda: chat.messages[0].text == "1b" and chat.messages[-1].settled)
    other = workspace.new_chat()
    revealed = Heard(other.message_revealed)
    other.open(chat.conversation.id)
    other.reveal(hidden)
    wait_for(lambda: revealed.told)
    assert revealed.told == [hidden]
    assert [message.id for message in other.messages][3] == hidden
    other.reveal(hidden)
    assert len(revealed) == 2


def test_a_turn_that_cannot_be_saved_comes_back(
    workspace: Workspace, chat: ChatController, wait_for: WaitFor
) -> None:
    workspace.store.write_plainly(lambda db: db.execute("PRAGMA query_only = ON"))
    drafts, failed = Heard(chat.draft_restored), Heard(chat.failed)
    files = (Attachment("a", "b"),)
    chat.send("precious words", files)
    wait_for(lambda: failed.told)
    assert drafts.told == [("precious words", files)]
    assert chat.messages == ()
    workspace.store.write_plainly(lambda db: db.execute("PRAGMA query_only = OFF"))


def test_drafts_are_kept(workspace: Workspace, chat: ChatController, wait_for: WaitFor) -> None:
    listed = Heard(workspace.library.changed)
    chat.save_draft("half")
    chat.save_draft("half a thought")
    id = chat.conversation.id
    chat.open_new()
    wait_for(lambda: listed.told and listed.last.conversations)
    drafts = Heard(chat.draft_restored)
    chat.open(id)
    wait_for(lambda: drafts.told)
    assert drafts.last == ("half a thought", ())
    chat.save_draft("half a thought more")
    say(chat, wait_for, "whole")
    chat.open(id)
    other = workspace.new_chat()
    drafts = Heard(other.draft_restored)
    other.open(id)
    wait_for(lambda: drafts.told)
    assert drafts.last == ("", ())


def test_a_pause_in_typing_keeps_the_draft(
    workspace: Workspace, chat: ChatController, wait_for: WaitFor
) -> None:
    listed = Heard(workspace.library.changed)
    chat.save_draft("thinking")
    wait_for(lambda: listed.told and listed.last.conversations)
    assert listed.last.conversations[0].draft == "thinking"


def test_own_settings(workspace: Workspace, chat: ChatController, wait_for: WaitFor) -> None:
    changed = Heard(chat.conversation_changed)
    overrides = Overrides("Be brief.", Sampling(temperature=0.0))
    chat.set_overrides(overrides)
    chat.set_model("/models/m")
    assert changed.last.overrides == overrides
    say(chat, wait_for, "one")
    other = workspace.new_chat()
    other.open(chat.conversation.id)
    wait_for(lambda: other.conversation)
    assert other.conversation.overrides == overrides
    assert other.conversation.model == "/models/m"


def test_quick_changes_never_jump_back(chat: ChatController, wait_for: WaitFor) -> None:
    say(chat, wait_for, "one")
    changed = Heard(chat.conversation_changed)
    for tenth in range(1, 20):
        chat.set_overrides(Overrides(sampling=Sampling(temperature=tenth / 10)))
        wait_for(lambda: True)
    say(chat, wait_for, "two")
    told = [conversation.overrides.sampling.temperature for conversation in changed.told]
    assert told == sorted(told)
    assert told[-1] == 1.9


def test_impossible_settings_stand_with_the_answer(chat: ChatController, wait_for: WaitFor) -> None:
    chat.set_overrides(Overrides(sampling=Sampling(top_p=7)))
    say(chat, wait_for, "one")
    assert chat.messages[1].error is not None
    assert "top_p is 7" in chat.messages[1].error.message


def test_tokens_are_estimated_then_counted(chat: ChatController, wait_for: WaitFor) -> None:
    counts = Heard(chat.tokens_counted)
    chat.count_draft("one two three")
    assert not counts.last.exact
    assert counts.last.limit is None
    say(chat, wait_for, "a b c d")
    chat.count_draft("one two three", (Attachment("f", "x y"),))
    wait_for(lambda: counts.last.exact)
    assert counts.last.limit == 4096
    assert counts.last.draft == 3 + 5  # "f:", two fences, "x" and "y"
    assert counts.last.used == 4 + 5 + 8
    chat.count_draft("")
    assert (counts.last.draft, counts.last.used, counts.last.exact) == (0, 9, True)
    assert not counts.last.too_long


def test_files_are_attached(chat: ChatController, wait_for: WaitFor, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1")
    read = Heard(chat.attachments_read)
    chat.attach([tmp_path / "a.py"])
    wait_for(lambda: read.told)
    chat.send("explain", read.last)
    wait_for(lambda: chat.messages)
    assert chat.messages[0].attachments == (Attachment("a.py", "x = 1"),)


def test_a_closed_window_leaves_its_answers_alone(
    workspace: Workspace, chat: ChatController, wait_for: WaitFor
) -> None:
    chat.send("one")
    id = chat.conversation.id
    chat.close()
    other = workspace.new_chat()
    wait_for(lambda: workspace.engine.state.model == "loaded" and workspace.answers.is_idle)
    other.open(id)
    wait_for(lambda: other.messages)
    assert texts(other) == ["one", "re: one"]


def test_anything_that_can_be_typed_can_be_sent(
    workspace: Workspace, chat: ChatController, wait_for: WaitFor
) -> None:
    half = "a\ud83d\0b"
    chat.save_draft(half)
    chat.count_draft(half)
    say(chat, wait_for, half, "\ud83d\ude00")
    chat.edit(chat.messages[2].id, half)
    wait_for(lambda: chat.messages[2].sibling_count == 2)
    assert chat.messages[0].text == chat.messages[2].text == "a\ufffd\ufffdb"
    found = Heard(workspace.library.search_finished)
    workspace.library.search(half)
    wait_for(lambda: found.told)
    workspace.library.rename(chat.conversation.id, half)
    wait_for(lambda: chat.conversation.title == "a\ufffd\ufffdb")


def test_what_is_shown_is_what_is_stored(
    workspace: Workspace, chat: ChatController, wait_for: WaitFor
) -> None:
    say(chat, wait_for, "one", "two")
    wait_for(lambda: workspace.answers.is_idle)
    stored: list[MessageTree] = []
    id = chat.conversation.id
    workspace.store.read(lambda db: MessageTree(message_rows.read_messages(db, id)), stored.append)
    wait_for(lambda: stored)
    assert stored[0].branch() == chat.messages
