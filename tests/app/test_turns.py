"""What a person does to a tree: nothing that was answered is ever replaced."""

import sqlite3
from dataclasses import replace

from app import conversation_rows, message_rows, turns
from app.conversation import Attachment
from tests.app.store_fixtures import new_chat


def test_a_turn_and_its_answer(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    turn = chat.say("Hello", None, Attachment("a.py", "x = 1"))
    user, answer = chat.shown
    assert (user.id, user.role, user.status, user.parent_id) == (
        turn.user_id,
        "user",
        "complete",
        None,
    )
    assert user.attachments == (Attachment("a.py", "x = 1"),)
    assert (answer.id, answer.role, answer.status) == (turn.answer_id, "assistant", "queued")
    assert answer.parent_id == user.id


def test_turns_follow_each_other_though_the_first_still_waits(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    chat.say("1", None)
    chat.say("2", None)
    assert chat.texts == ["1", "", "2", ""]


def test_edit_adds_a_version_and_keeps_what_followed(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    first = chat.say("old", "old answer", Attachment("a.txt", "A"))
    chat.say("later")
    turn = turns.edit_turn(db, first.user_id or "", "new", 2000.0)
    assert turn is not None
    assert chat.texts == ["new", ""]
    assert chat.shown[0].attachments == (Attachment("a.txt", "A"),)
    assert (chat.shown[0].sibling_index, chat.shown[0].sibling_count) == (1, 2)
    turns.choose(db, [first.user_id or ""])
    assert chat.texts == ["old", "old answer", "later", "Yes."]


def test_editing_a_turn_that_waits_changes_it_in_place(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    turn = chat.say("tpyo", None)
    assert turns.edit_turn(db, turn.user_id or "", "typo", 2000.0) is None
    assert chat.texts == ["typo", ""]
    assert chat.shown[0].sibling_count == 1


def test_regenerate_adds_a_version(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    first = chat.say("q", "one")
    again = turns.add_version(db, first.answer_id, 2000.0)
    chat.answer(again.answer_id, "two")
    assert chat.texts == ["q", "two"]
    assert chat.shown[1].sibling_count == 2
    third = turns.add_version(db, first.user_id or "", 2001.0)
    assert third.user_id == first.user_id


def test_continue_goes_on_with_what_is_there(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    turn = chat.say("q", "Once upon")
    assert turns.await_more(db, turn.answer_id) == turn
    assert chat.shown[1].status == "queued"
    chat.answer(turn.answer_id, " a time")
    assert chat.texts == ["q", "Once upon a time"]


def test_what_waits_already_is_not_continued(db: sqlite3.Connection) -> None:
    turn = new_chat(db).say("q", None)
    assert turns.await_more(db, turn.answer_id) is None


def test_removing_a_waiting_turn_moves_up_what_was_sent_after_it(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    chat.say("1", "one")
    second = chat.say("2", None)
    chat.say("3", None)
    assert turns.remove_waiting(db, second.user_id or "") == second.answer_id
    assert chat.texts == ["1", "one", "3", ""]


def test_removing_a_waiting_version_keeps_the_others(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    first = chat.say("q", "one")
    again = turns.add_version(db, first.answer_id, 2000.0)
    chat.say("next", None)
    assert turns.remove_waiting(db, again.answer_id) == again.answer_id
    assert chat.texts == ["q", "one", "next", ""]


def test_an_answer_that_waits_for_more_is_kept(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    turn = chat.say("q", "Once upon")
    turns.await_more(db, turn.answer_id)
    turns.remove_waiting(db, turn.answer_id)
    assert chat.texts == ["q", "Once upon"]
    assert chat.shown[1].status == "stopped"


def test_what_was_begun_is_not_removed(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    turn = chat.say("q", None)
    message_rows.begin(db, turn.answer_id, "Fake")
    assert turns.remove_waiting(db, turn.user_id or "") is None
    assert len(chat.shown) == 2


def test_delete_takes_all_branches_below_and_undo_brings_them_back(
    db: sqlite3.Connection,
) -> None:
    chat = new_chat(db)
    chat.say("1", "one")
    second = chat.say("2", "two")
    turns.edit_turn(db, second.user_id or "", "2b", 2000.0)
    before = chat.texts
    deletion = turns.delete(db, chat.shown[1].id, 2001.0)
    assert chat.texts == ["1"]
    assert (deletion.kind, deletion.count, deletion.title) == ("message", 5, "one")
    turns.undo_delete(db, deletion.id)
    assert chat.texts == before
    assert chat.shown[-1].status == "stopped"  # it waited when it was deleted


def test_undo_brings_back_what_it_hangs_from(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    chat.say("1", "one")
    chat.say("2", "two")
    inner = turns.delete(db, chat.shown[3].id, 2000.0)
    outer = turns.delete(db, chat.shown[1].id, 2001.0)
    turns.undo_delete(db, inner.id)
    assert chat.texts == ["1", "one", "2", "two"]
    turns.undo_delete(db, outer.id)
    assert chat.texts == ["1", "one", "2", "two"]


def test_a_deleted_version_gives_way_to_the_one_chosen_before_it(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    first = chat.say("q", "one")
    again = turns.add_version(db, first.answer_id, 2000.0)
    chat.answer(again.answer_id, "two")
    turns.delete(db, again.answer_id, 2001.0)
    assert chat.texts == ["q", "one"]
    assert chat.shown[1].sibling_count == 1


def test_an_answer_whose_turn_was_deleted_does_not_begin(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    turn = chat.say("q", None)
    turns.delete(db, turn.user_id or "", 2000.0)
    assert message_rows.begin(db, turn.answer_id, "Fake") is None


def test_an_answer_in_a_deleted_conversation_does_not_begin(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    turn = chat.say("q", None)
    conversation_rows.delete(db, [chat.id], 2000.0)
    assert message_rows.begin(db, turn.answer_id, "Fake") is None
    assert chat.shown[1].status == "queued"


def test_growth_does_not_touch_what_has_settled(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    chat.say("q", "whole")
    message_rows.save_growth(db, replace(chat.shown[1], text="half"))
    assert chat.texts == ["q", "whole"]


def test_what_grew_or_waited_at_the_end_is_interrupted(db: sqlite3.Connection) -> None:
    chat = new_chat(db)
    chat.say("1", "one")
    second = chat.say("2", None)
    chat.say("3", None)
    begun = message_rows.begin(db, second.answer_id, "Fake")
    assert begun is not None
    message_rows.save_growth(db, replace(begun.path[-1], text="half"))
    assert message_rows.mark_interrupted(db) == 2
    assert [m.status for m in chat.shown[1::2]] == ["complete", "interrupted", "interrupted"]
    assert chat.shown[3].text == "half"
    assert chat.shown[3].can_continue
    assert chat.shown[3].error is not None
    assert not chat.shown[5].can_continue
