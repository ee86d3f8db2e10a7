"""Markdown in documents: nothing is lost, nothing is loaded, formulas stand in their places."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSize, Qt, QUrl
from PySide6.QtGui import QColor, QImage, QTextBlock, QTextDocument
from PySide6.QtWidgets import QWidget

from app.blocks.drawing import Formula
from app.ui.theme import Role
from app.ui.transcript.document_text import DocumentText
from app.ui.transcript.formula_object import OBJECT_CHARACTER, source_of
from app.ui.transcript.markdown import draw_awaited, write_markdown
from app.ui.transcript.ornaments import marker_of
from tests.ui.transcript.conftest import SVG, StillTypesetter


def blocks(document: QTextDocument) -> Iterator[QTextBlock]:
    block = document.begin()
    while block.isValid():
        yield block
        block = block.next()


def colours(widget: QWidget) -> list[QColor]:
    image = widget.grab().toImage()
    return [
        image.pixelColor(x, y) for x in range(image.width()) for y in range(0, image.height(), 3)
    ]


def words(text: DocumentText, markdown: str) -> str:
    write_markdown(text.document, markdown, text.page, Role.TEXT)
    return text.document.toPlainText()


@pytest.mark.parametrize(
    "markdown",
    ["Use std::vector<int> v; then\n\nmore", "a <think> b\n\nc", "<b>x</b>\n\n<script>y</script>"],
)
def test_what_looks_like_html_is_text(text: DocumentText, markdown: str) -> None:
    shown = words(text, markdown)
    for word in markdown.split():
        assert word in shown


def test_a_document_loads_nothing(text: DocumentText, tmp_path: Path) -> None:
    picture = QImage(60, 60, QImage.Format.Format_RGB32)
    picture.fill(QColor("red"))
    assert picture.save(str(tmp_path / "x.png"))
    url = QUrl.fromLocalFile(str(tmp_path / "x.png"))
    shown = words(text, f"![a cat]({url.toString()}) ![b](http://example.org/x.png)")
    assert shown == "a cat b"
    found = text.document.resource(QTextDocument.ResourceType.ImageResource.value, url)
    assert found.size() == QSize(1, 1)
    text.resize(400, text.fit(400))
    assert text.height() < 60
    assert QColor("red") not in colours(text)


def test_an_image_is_a_link_to_it(text: DocumentText) -> None:
    words(text, "![a cat](http://example.org/x.png)")
    text.resize(400, text.fit(400))
    assert text.link_at(QPoint(5, text.height() // 2)) == "http://example.org/x.png"


def test_a_formula_is_its_source_until_it_is_drawn(
    text: DocumentText, typesetter: StillTypesetter
) -> None:
    markdown = "so $x_1*y_1*z$ is"
    awaited = write_markdown(text.document, markdown, text.page, Role.TEXT)
    assert [each.span.latex for each in awaited] == ["x_1*y_1*z"]
    assert text.document.toPlainText() == markdown
    assert draw_awaited(awaited, text.page, Role.TEXT) == awaited
    typesetter.answer()
    assert draw_awaited(awaited, text.page, Role.TEXT) == []
    assert text.document.toPlainText() == f"so {OBJECT_CHARACTER} is"
    assert write_markdown(text.document, markdown, text.page, Role.TEXT) == []
    assert text.document.toPlainText() == f"so {OBJECT_CHARACTER} is"


def test_a_formula_that_cannot_be_drawn_stays_its_source(
    text: DocumentText, typesetter: StillTypesetter
) -> None:
    words(text, "$\\oops$")
    typesetter.answer(drawn=False)
    assert words(text, "$\\oops$") == "$\\oops$"
    assert write_markdown(text.document, "$\\oops$", text.page, Role.TEXT) == []


def test_formulas_side_by_side_are_drawn_one_after_the_other(
    text: DocumentText, typesetter: StillTypesetter
) -> None:
    markdown = "\\(𝑥\\)\\(y\\)\\(z\\), $u$ and $x$"
    awaited = write_markdown(text.document, markdown, text.page, Role.TEXT)
    sources = ["\\(𝑥\\)", "\\(y\\)", "\\(z\\)", "$u$", "$x$"]
    assert text.document.toPlainText() == markdown
    for latex in ("y", "x", "𝑥", "u", "z"):
        number = next(n for n, about in typesetter._asked.items() if about == (latex, False))
        typesetter._keep((latex, False), Formula(SVG, 1.0, 0.8, 0.2))
        del typesetter._asked[number]
        awaited = draw_awaited(awaited, text.page, Role.TEXT)
        markdown = markdown.replace(next(s for s in sources if latex in s), OBJECT_CHARACTER)
        assert text.document.toPlainText() == markdown
    assert awaited == []


def test_formulas_keep_their_order_among_other_marks(
    text: DocumentText, typesetter: StillTypesetter
) -> None:
    markdown = "**$a$** and ![i](http://x.org) and [$b$](http://y.org)\n\n- $c$\n"
    words(text, markdown)
    typesetter.answer()
    words(text, markdown)
    sources = []
    for at in range(text.length):
        cursor = text.cursor_over(at, at + 1)
        if cursor.selectedText() == OBJECT_CHARACTER:
            sources.append(source_of(cursor.charFormat()))
    assert sources == ["$a$", "$b$", "$c$"]


def test_a_formula_in_a_line_does_not_make_it_higher(
    text: DocumentText, typesetter: StillTypesetter
) -> None:
    words(text, "a $x$ b")
    typesetter.answer()
    plain, formula = [], []
    for markdown, heights in (("a x b\n\nc", plain), ("a $x$ b\n\nc", formula)):
        words(text, markdown)
        heights.append(text.fit(400))
    assert formula == plain


def test_list_markers(text: DocumentText) -> None:
    words(text, "3. three\n4. four\n\n- a\n  - b\n\n- [ ] open\n- [x] done\n\n---\n")
    markers = [marker_of(block) for block in blocks(text.document)]
    assert [marker for marker in markers if marker] == ["3.", "4.", "•", "•", "☐", "☑", "—"]


@pytest.mark.parametrize(
    ("markdown", "direction"),
    [
        ("שלום world", Qt.LayoutDirection.RightToLeft),
        ("- مرحبا", Qt.LayoutDirection.RightToLeft),
        ("# כותרת", Qt.LayoutDirection.RightToLeft),
        ("hello שלום", Qt.LayoutDirection.LeftToRight),
        ("42 שלום", Qt.LayoutDirection.RightToLeft),
    ],
)
def test_direction_is_of_each_paragraph(
    text: DocumentText, markdown: str, direction: Qt.LayoutDirection
) -> None:
    words(text, markdown)
    text.fit(400)
    assert [block.textDirection() for block in blocks(text.document)] == [direction]


def test_a_right_to_left_paragraph_stands_at_the_right(text: DocumentText) -> None:
    words(text, "שלום")
    text.resize(400, text.fit(400))
    line = text.document.begin().layout().lineAt(0)
    assert line.naturalTextRect().right() > 390


def test_the_lines_end_is_at_the_widgets_end(text: DocumentText) -> None:
    """Qt leaves room under the last line; a bubble's text would stand too high in it."""
    words(text, "one line")
    height = text.fit(400)
    line = text.document.begin().layout().lineAt(0)
    assert height == pytest.approx(line.height(), abs=1)
