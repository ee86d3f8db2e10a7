"""Answers one at a time: progress, order, stop, death, failures of the disk, and closing."""

import os
import signal
import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from app import message_rows
from app.chat_controller import ChatController
from app.conversation import Message
from app.workspace import Workspace
from engine.errors import NotEnoughDisk
from tests.app.conftest import Heard, Script, WaitFor

SLOW: Script = {"text": ["word "] * 10_000, "delay_s": 0.005}
Make = Callable[..., Workspace]


def new_chat(workspace: Workspace) -> ChatController:
    chat = workspace.new_chat()
    chat.open_new()
    return chat


def last(chat: ChatController) -> Message:
    return chat.messages[-1]


def is_answered(chat: ChatController, count: int = 1) -> Callable[[], bool]:
    return lambda: (
        len(chat.messages) == 2 * count and all(message.settled for message in chat.messages)
    )


def test_an_answer_from_first_to_last(make_workspace: Make, wait_for: WaitFor) -> None:
    workspace = make_workspace(
        {
            "load": {"steps": 4, "delay_s": 0.2},
            "answers": [
                {
                    "prefill": [100, 4, 0.05],
                    "reasoning": ["hm ", "so "],
                    "text": ["one ", "two"],
                    "delay_s": 0.05,
                }
            ],
        }
    )
    chat = new_chat(workspace)
    grew, activity = Heard(chat.answer_grew), Heard(chat.activity_changed)
    ended = Heard(chat.answer_ended)
    chat.send("hi")
    wait_for(is_answered(chat))
    wait_for(lambda: ended.told)
    answer = last(chat)
    assert (answer.text, answer.reasoning, answer.status) == ("one two", "hm so ", "complete")
    assert answer.finish_reason == "stop"
    assert answer.stats is not None
    assert answer.model == "fake"
    assert answer.reasoning_s is not None
    assert "".join(delta.text for delta in grew.told) == "one two"
    assert "".join(delta.reasoning for delta in grew.told) == "hm so "
    phases = [told.phase for told in activity.told]
    order = [p for i, p in enumerate(phases) if i == 0 or phases[i - 1] != p]
    assert order == ["queued", "loading", "reading", "thinking", "answering", "idle"]
    assert {(a.prompt_done, a.prompt_total) for a in activity.told} >= {(25, 100), (100, 100)}
    assert max(told.load_fraction for told in activity.told) > 0
    assert ended.told == [answer]


def test_one_at_a_time_in_order_whatever_is_shown(make_workspace: Make, wait_for: WaitFor) -> None:
    workspace = make_workspace({"answers": [{"text": ["echo ", "{echo}"], "delay_s": 0.05}]})
    chats = [new_chat(workspace) for _ in range(3)]
    queue = Heard(workspace.answers.queue_changed)
    for number, chat in enumerate(chats):
        chat.send(f"question {number}")
    chats[0].send("question 3")
    wait_for(lambda: workspace.answers.is_idle and len(queue) > 4)
    wait_for(is_answered(chats[0], 2))
    for number, chat in enumerate(chats):
        assert chat.messages[1].text == f"echo question {number}"
        assert chat.messages[0].text == f"question {number}"
    places = [[queued.place for queued in told] for told in queue.told]
    assert all(place == sorted(place) and len(set(place)) == len(place) for place in places)
    assert max(len(place) for place in places) == 4


def test_switching_chats_stops_nothing_and_mixes_nothing(
    make_workspace: Make, wait_for: WaitFor
) -> None:
    workspace = make_workspace({"answers": [{"text": "all about {echo} " * 30, "delay_s": 0.005}]})
    chat = workspace.new_chat()
    ids = []
    for word in ("cats", "dogs"):
        chat.open_new()
        chat.send(word)
        ids.append(chat.conversation.id)
        wait_for(lambda: chat.messages)
    reset = Heard(chat.messages_reset)
    for number in range(50):
        chat.open(ids[number % 2])
        wait_for(lambda number=number: len(reset) > number)
    wait_for(lambda: workspace.answers.is_idle)
    for id, word in zip(ids, ("cats", "dogs"), strict=True):
        chat.open(id)
        wait_for(lambda id=id: chat.conversation and chat.conversation.id == id)
        assert last(chat).text == f"all about {word} " * 30


def test_the_next_answer_sees_the_one_before_it(make_workspace: Make, wait_for: WaitFor) -> None:
    workspace = make_workspace()
    chat = new_chat(workspace)
    chat.send("one")
    chat.send("two")
    wait_for(is_answered(chat, 2))
    assert [message.text for message in chat.messages] == ["one", "Hello.", "two", "Hello."]
    assert chat.messages[2].parent_id == chat.messages[1].id


def test_stop_keeps_what_was_said(make_workspace: Make, wait_for: WaitFor) -> None:
    workspace = make_workspace({"answers": [SLOW, {"text": "next"}]})
    chat = new_chat(workspace)
    activity = Heard(chat.activity_changed)
    chat.send("hi")
    wait_for(lambda: last(chat).text if chat.messages else "")
    chat.send("again")
    chat.stop()
    assert activity.last.phase == "stopping"
    wait_for(is_answered(chat, 2))
    stopped = chat.messages[1]
    assert stopped.status == "stopped"
    assert stopped.text.startswith("word ")
    assert stopped.can_continue
    assert last(chat).text == "next"


def test_stop_while_the_model_loads(make_workspace: Make, wait_for: WaitFor) -> None:
    workspace = make_workspace({"load": {"steps": 100, "delay_s": 2}})
    chat = new_chat(workspace)
    chat.send("hi")
    wait_for(lambda: workspace.engine.state.load_fraction > 0)
    chat.stop()
    wait_for(is_answered(chat))
    assert last(chat).status == "stopped"
    assert workspace.answers.is_idle
    chat.send("now")
    wait_for(is_answered(chat, 2))
    assert last(chat).status == "complete"


def test_stop_while_the_prompt_is_read(make_workspace: Make, wait_for: WaitFor) -> None:
    workspace = make_workspace({"answers": [{"prefill": [1000, 1000, 0.05], "text": "never"}]})
    chat = new_chat(workspace)
    chat.send("hi")
    wait_for(lambda: workspace.answers.activity(chat.conversation.id).prompt_done > 0)
    chat.stop()
    wait_for(is_answered(chat))
    assert (last(chat).status, last(chat).text) == ("stopped", "")


def test_stop_of_what_waits(make_workspace: Make, wait_for: WaitFor) -> None:
    workspace = make_workspace({"answers": [SLOW]})
    busy, waiting = new_chat(workspace), new_chat(workspace)
    busy.send("hi")
    waiting.send("one")
    waiting.send("two")
    wait_for(lambda: len(workspace.answers.answers) == 3)
    waiting.stop()
    wait_for(is_answered(waiting, 2))
    assert [m.status for m in waiting.messages[1::2]] == ["stopped", "stopped"]
    assert len(workspace.answers.answers) == 1


def test_an_engine_that_does_not_listen_is_ended(
    make_workspace: Make, wait_for: WaitFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.answer_run.STOP_WITHIN_MS", 100)
    workspace = make_workspace({"answers": [{"text": "a b c", "stall_at": 2}, {"text": "x"}]})
    died = Heard(workspace.engine.died)
    chat = new_chat(workspace)
    chat.send("hi")
    wait_for(lambda: chat.messages and last(chat).text == "a b ")
    chat.stop()
    wait_for(is_answered(chat))
    assert (last(chat).status, last(chat).text) == ("stopped", "a b ")
    assert not died.told


def test_a_death_keeps_the_text_and_the_queue_goes_on(
    make_workspace: Make, wait_for: WaitFor
) -> None:
    workspace = make_workspace({"answers": [{"match": "die", "text": "a b c", "crash_at": 2}, {}]})
    chat = new_chat(workspace)
    chat.send("die")
    chat.send("live")
    wait_for(is_answered(chat, 2))
    dead, alive = chat.messages[1], chat.messages[3]
    assert (dead.text, dead.status) == ("a b ", "interrupted")
    assert dead.error is not None
    assert "SIGABRT" in dead.error.message
    assert alive.status == "complete"


def test_three_deaths_keep_the_queue_waiting_until_restart(
    make_workspace: Make, wait_for: WaitFor
) -> None:
    workspace = make_workspace({"answers": [{"match": "die", "text": "a", "crash_at": 0}, {}]})
    chat = new_chat(workspace)
    for text in ("die 1", "die 2", "die 3", "live"):
        chat.send(text)
    wait_for(lambda: workspace.engine.gave_up)
    wait_for(lambda: [m.status for m in chat.messages[1::2]] == ["interrupted"] * 3 + ["queued"])
    assert workspace.engine.state.death is not None
    assert workspace.engine.state.death.gave_up
    workspace.engine.restart()
    wait_for(is_answered(chat, 4))
    assert last(chat).status == "complete"


def test_a_model_that_kills_the_engine_while_it_loads(
    make_workspace: Make, wait_for: WaitFor
) -> None:
    workspace = make_workspace({"load": {"crash": True}})
    chat = new_chat(workspace)
    chat.send("hi")
    wait_for(lambda: workspace.engine.gave_up)
    wait_for(lambda: workspace.answers.activity(chat.conversation.id).phase == "queued")
    chat.stop()
    wait_for(is_answered(chat))
    assert last(chat).status == "stopped"


def test_a_model_that_cannot_be_loaded(make_workspace: Make, wait_for: WaitFor) -> None:
    error = {"kind": "NotEnoughMemory", "message": "Too big.", "remedy": "Close apps."}
    workspace = make_workspace({"load": {"error": error}})
    chat = new_chat(workspace)
    chat.send("hi")
    chat.send("and")
    wait_for(is_answered(chat, 2))
    for answer in chat.messages[1::2]:
        assert answer.status == "failed"
        assert answer.error is not None
        assert answer.error.message == "Too big."


def test_no_model_at_all(make_workspace: Make, wait_for: WaitFor) -> None:
    workspace = make_workspace()
    workspace.settings.update(model="")
    chat = new_chat(workspace)
    chat.send("hi")
    wait_for(is_answered(chat))
    assert last(chat).error is not None
    assert last(chat).error.message == "No model is chosen."


def test_the_conversations_own_model_is_used(make_workspace: Make, wait_for: WaitFor) -> None:
    workspace = make_workspace()
    chat = new_chat(workspace)
    chat.set_model("/models/other")
    chat.send("hi")
    wait_for(is_answered(chat))
    assert last(chat).model == "other"
    assert workspace.engine.state.model_path == "/models/other"


def test_an_error_of_the_engine_stands_with_the_answer(
    make_workspace: Make, wait_for: WaitFor
) -> None:
    error = {"kind": "ContextFull", "message": "6,410 of 4,096 tokens.", "remedy": "Shorten it."}
    workspace = make_workspace(
        {"answers": [{"text": "a b", "error_at": 1, "error": error}, {"text": "a", "bug_at": 1}]}
    )
    chat = new_chat(workspace)
    chat.send("hi")
    wait_for(is_answered(chat))
    assert (last(chat).status, last(chat).text) == ("failed", "a ")
    assert last(chat).error is not None
    assert last(chat).error.remedy == "Shorten it."
    chat.send("hi")
    wait_for(is_answered(chat, 2))
    assert last(chat).error is not None
    assert last(chat).error.kind == "Bug"


def test_continue_goes_on_in_place(make_workspace: Make, wait_for: WaitFor) -> None:
    workspace = make_workspace(
        {"answers": [{"text": "Once upon", "reason": "length"}, {"text": [" a time"]}]}
    )
    chat = new_chat(workspace)
    chat.send("hi")
    wait_for(is_answered(chat))
    assert last(chat).can_continue
    chat.continue_(last(chat).id)
    wait_for(lambda: last(chat).text == "Once upon a time" and last(chat).settled)
    assert last(chat).finish_reason == "stop"
    assert len(chat.messages) == 2


def test_the_answer_is_written_while_it_grows(make_workspace: Make, wait_for: WaitFor) -> None:
    workspace = make_workspace({"answers": [SLOW]})
    chat = new_chat(workspace)
    chat.send("hi")
    stored: list[list[Any]] = [[("", "")]]

    def look() -> bool:
        query = "SELECT text, status FROM message WHERE role = 'assistant'"
        workspace.store.read(lambda db: db.execute(query).fetchall(), stored.append)
        return bool(stored[-1] and stored[-1][0][0])

    wait_for(look)
    assert stored[-1][0][1] == "streaming"


def test_a_full_disk_is_told_once_and_nothing_is_lost(
    make_workspace: Make, wait_for: WaitFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.answer_run.RETRY_MS", 20)
    workspace = make_workspace({"answers": [{"text": "a b c", "delay_s": 0.2}]})
    chat = new_chat(workspace)
    failed = Heard(workspace.store.failed)
    full = [True]

    def save(save_it: Callable[..., None], db: sqlite3.Connection, answer: Message) -> None:
        if full[0]:
            raise NotEnoughDisk("The disk is full.", "Free some space.")
        save_it(db, answer)

    for name in ("save_growth", "save_answer"):
        broken = partial(save, getattr(message_rows, name))
        monkeypatch.setattr(message_rows, name, broken)
    chat.send("hi")
    wait_for(lambda: chat.messages and last(chat).text == "a b c" and last(chat).settled)
    wait_for(lambda: failed.told)
    assert not workspace.answers.is_idle
    full[0] = False
    wait_for(lambda: workspace.answers.is_idle)
    assert len(failed) == 1
    chat.open(chat.conversation.id)
    wait_for(is_answered(chat))
    assert last(chat).text == "a b c"


def test_closing_writes_what_was_said(make_workspace: Make, wait_for: WaitFor) -> None:
    workspace = make_workspace({"answers": [SLOW]})
    chat = new_chat(workspace)
    chat.send("hi")
    chat.send("waits")
    wait_for(lambda: chat.messages and chat.messages[1].text)
    said, id = chat.messages[1].text, chat.conversation.id
    pid = workspace.engine.state.pid
    workspace.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid or 0, 0)
    again = make_workspace()
    chat = again.new_chat()
    chat.open(id)
    wait_for(lambda: chat.messages)
    assert chat.messages[1].text == said
    assert [m.status for m in chat.messages[1::2]] == ["interrupted", "interrupted"]
    assert chat.messages[1].error is not None
    chat.regenerate(chat.messages[3].id)
    wait_for(lambda: last(chat).status == "complete")


def test_unloading_stops_what_waits_for_the_model(make_workspace: Make, wait_for: WaitFor) -> None:
    workspace = make_workspace({"load": {"steps": 100, "delay_s": 2}})
    chat = new_chat(workspace)
    chat.send("hi")
    wait_for(lambda: workspace.engine.state.load_fraction > 0)
    workspace.engine.unload()
    wait_for(is_answered(chat))
    assert last(chat).status == "stopped"


def test_a_question_while_the_model_is_being_unloaded(
    make_workspace: Make, wait_for: WaitFor
) -> None:
    workspace = make_workspace()
    chat = new_chat(workspace)
    chat.send("one")
    wait_for(is_answered(chat))
    workspace.engine.unload()
    chat.send("two")
    wait_for(is_answered(chat, 2))
    assert last(chat).status == "complete"


def test_a_kill_from_outside_in_the_middle(make_workspace: Make, wait_for: WaitFor) -> None:
    workspace = make_workspace({"answers": [SLOW, {}]})
    chat = new_chat(workspace)
    chat.send("hi")
    wait_for(lambda: chat.messages and last(chat).text)
    os.kill(workspace.engine.state.pid or 0, signal.SIGKILL)
    wait_for(is_answered(chat))
    assert last(chat).status == "interrupted"
    assert last(chat).text.startswith("word ")
