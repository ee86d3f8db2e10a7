"""What the engine is given: turns, files in fences, no reasoning, nothing empty."""

from app.conversation import Attachment, Message
from app.prompt import build_prompt, full_text
from engine.protocol import ChatMessage


def user(text: str, *attachments: Attachment) -> Message:
    return Message("u", "c", None, "user", text, attachments=attachments)


def answer(text: str, reasoning: str = "") -> Message:
    return Message("a", "c", "u", "assistant", text, reasoning)


def test_reasoning_and_empty_answers_are_left_out() -> None:
    path = [user("1"), answer("", "hm"), user("2"), answer("two", "hm"), user("3"), answer("")]
    assert build_prompt(" ", path) == (
        ChatMessage("user", "1"),
        ChatMessage("user", "2"),
        ChatMessage("assistant", "two"),
        ChatMessage("user", "3"),
    )


def test_the_system_prompt_comes_first() -> None:
    assert build_prompt("Be brief.", [user("1")])[0] == ChatMessage("system", "Be brief.")


def test_an_answer_to_be_continued_is_the_last_message() -> None:
    assert build_prompt("", [user("1"), answer("Once upon")])[-1].role == "assistant"


def test_files_come_before_the_words_in_fences_they_cannot_close() -> None:
    text = full_text("Why?", (Attachment("a.md", "```py\n````\n"), Attachment("b", "x")))
    assert text == "a.md:\n`````\n```py\n````\n`````\n\nb:\n```\nx\n```\n\nWhy?"


def test_files_alone_are_a_turn() -> None:
    assert full_text("", (Attachment("b", "x"),)) == "b:\n```\nx\n```"
