"""Reading documents back: what is copied of a selection, and of whole messages."""

from app.ui.theme import Role
from app.ui.transcript.clipboard import excerpts_mime, messages_mime, messages_plain
from app.ui.transcript.document_text import DocumentText
from app.ui.transcript.markdown import write_markdown
from app.ui.transcript.reading import excerpt_of_whole
from app.ui.transcript.text import Excerpt
from tests.ui.fake_chat import answer, user
from tests.ui.transcript.conftest import StillTypesetter

TABLE = "| a | b |\n|---|---|\n| 1 | $x$ |\n| | 4 |\n"


def whole(text: DocumentText, markdown: str) -> Excerpt:
    write_markdown(text.document, markdown, text.page, Role.TEXT)
    return excerpt_of_whole(text.document)


def test_tables_are_tab_separated(text: DocumentText, typesetter: StillTypesetter) -> None:
    whole(text, TABLE)
    typesetter.answer()
    assert whole(text, TABLE).plain == "a\tb\n1\t$x$\n\t4"


def test_lists_keep_their_markers(text: DocumentText) -> None:
    markdown = "1. one\n2. two\n   - deep\n\n- [x] done\n"
    assert whole(text, markdown).plain.split("\n") == ["1. one", "2. two", "  • deep", "☑ done"]


def test_rich_text_has_lists_and_weight(text: DocumentText) -> None:
    html = whole(text, "- **heavy**\n").html
    assert "<ul" in html
    assert "font-weight:7" in html


def test_formulas_are_copied_as_they_were_written(
    text: DocumentText, typesetter: StillTypesetter
) -> None:
    whole(text, "is $x^2$ so")
    typesetter.answer()
    assert whole(text, "is $x^2$ so").plain == "is $x^2$ so"


def test_a_part_of_the_text(text: DocumentText) -> None:
    whole(text, "one **two** three")
    assert text.excerpt(2, 9).plain == "e two t"
    assert text.excerpt(3, 3) == Excerpt("", "")


def test_a_message_is_copied_as_its_source_and_as_rich_text() -> None:
    source = "# Head\n\nUse `x` and $y_1$.\n\n```py\na\tb\n```\n"
    mime = messages_mime([answer(1, source)])
    assert mime.text() == source
    assert bytes(mime.data("text/markdown").data()).decode() == source
    assert "<pre" in mime.html()
    assert "$y_1$" in mime.html()


def test_several_messages_say_who_wrote_them() -> None:
    mime = messages_mime([user(1, "Why?"), answer(1, "*Because.*")])
    assert mime.text() == "**You:**\n\nWhy?\n\n**Assistant:**\n\n*Because.*"


def test_plain_text_has_no_marks() -> None:
    message = answer(1, "# Head\n\n**Use** `x` and $y_1$.\n\n- a\n- b\n\n" + TABLE)
    plain = messages_plain([message])
    assert plain.startswith("Head\nUse x and $y_1$.\n")
    assert "1\t$x$" in plain
    assert "*" not in plain


def test_a_persons_words_are_plain_already() -> None:
    assert messages_plain([user(1, "**as** typed\n\tand tabs")]) == "**as** typed\n\tand tabs"


def test_a_selection_through_several_texts() -> None:
    mime = excerpts_mime([Excerpt("one", "<b>one</b>"), Excerpt("two", "<i>two</i>")])
    assert mime.text() == "one\n\ntwo"
    assert mime.html().count("<html>") == 1
