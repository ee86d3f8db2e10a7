"""Markdown into a document, by Qt's own parser, in our typography.

Always without HTML: with it, Qt drops everything after an unknown tag. Formulas are cut out before
parsing and put back as objects, or as their source while they are not drawn. Images become links.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtGui import (
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFragment,
)

from app.blocks.emphasis import mend_emphasis
from app.blocks.math_span import MathSpan, cut_math
from app.ui import theme
from app.ui.theme import Role
from app.ui.transcript.formula_object import OBJECT_CHARACTER
from app.ui.transcript.ornaments import silence_lists, take_over
from app.ui.transcript.page import LINE_SPACING, PARAGRAPH, Page

FEATURES = (
    QTextDocument.MarkdownFeature.MarkdownNoHTML
    | QTextDocument.MarkdownFeature.MarkdownDialectGitHub
)

_PROPORTIONAL = QTextBlockFormat.LineHeightTypes.ProportionalHeight.value


@dataclass(frozen=True, slots=True)
class Awaited:
    """A formula whose source is shown until its drawing is made."""

    span: MathSpan
    start: QTextCursor  # of the source; what is written before it moves it along
    length: int  # of the source


def write_markdown(document: QTextDocument, markdown: str, page: Page, role: Role) -> list[Awaited]:
    """Fill a document; the formulas whose drawings are still being made."""
    cut = cut_math(mend_emphasis(markdown))
    document.setIndentWidth(page.em * 1.6)
    document.setMarkdown(cut.text, FEATURES)
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    marks = list(_style(document, cursor, page, set(cut.spans)))
    awaited: list[Awaited] = []
    for position, letter in reversed(marks):
        cursor.setPosition(position)
        cursor.setPosition(position + 1, QTextCursor.MoveMode.KeepAnchor)
        if letter == OBJECT_CHARACTER:
            _image_to_link(cursor, page.ink.link)
        elif not put_formula(cursor, cut.spans[letter], page, role):
            awaited += _show_source(cursor, cut.spans[letter], page)
    silence_lists(document)
    cursor.endEditBlock()
    return awaited


def draw_awaited(awaited: list[Awaited], page: Page, role: Role) -> list[Awaited]:
    """Put the drawings that were made since in their places; what is awaited still."""
    waits = page.typesetter.waits_for
    here = [a for a in awaited if not waits(a.span.latex, display=a.span.display)]
    if here:
        cursor = QTextCursor(here[0].start)
        cursor.beginEditBlock()
        for each in here:
            start = each.start.position()
            cursor.setPosition(start)
            cursor.setPosition(start + each.length, QTextCursor.MoveMode.KeepAnchor)
            put_formula(cursor, each.span, page, role)
        cursor.endEditBlock()
    return [each for each in awaited if each not in here]


def _style(
    document: QTextDocument, cursor: QTextCursor, page: Page, marks: set[str]
) -> Iterator[tuple[int, str]]:
    """Format all blocks; where characters stand that are to be replaced, in this order."""
    wanted = marks | {OBJECT_CHARACTER}
    block = document.begin()
    while block.isValid():
        _style_block(block, cursor, page)
        text = block.text()
        yield from (
            (block.position() + column, letter)
            for column, letter in enumerate(text)
            if letter in wanted
        )
        block = block.next()


def _style_block(block: QTextBlock, cursor: QTextCursor, page: Page) -> None:
    block.layout().setCacheEnabled(True)  # painting takes a third less
    cursor.setPosition(block.position())
    cursor.setBlockFormat(_block_format(block, page))
    level = block.blockFormat().headingLevel()
    if level:
        _merge(cursor, block.position(), block.length() - 1, page.ink.headings[level - 1])
    for fragment in _fragments(block):
        chosen = fragment.charFormat()
        if chosen.isAnchor():
            _merge(cursor, fragment.position(), fragment.length(), page.ink.link)
        if chosen.fontFixedPitch():
            _merge(cursor, fragment.position(), fragment.length(), page.ink.code)


def _fragments(block: QTextBlock) -> list[QTextFragment]:
    found = []
    at = block.begin()
    while not at.atEnd():
        found.append(at.fragment())
        at += 1
    return found


def _merge(cursor: QTextCursor, start: int, length: int, chosen: QTextCharFormat) -> None:
    cursor.setPosition(start)
    cursor.setPosition(start + length, QTextCursor.MoveMode.KeepAnchor)
    cursor.mergeCharFormat(chosen)


def _block_format(block: QTextBlock, page: Page) -> QTextBlockFormat:
    chosen = block.blockFormat()
    em = page.em
    first, last = not block.previous().isValid(), not block.next().isValid()
    level = chosen.headingLevel()
    is_code = chosen.hasProperty(QTextFormat.Property.BlockCodeFence) or chosen.nonBreakableLines()
    chosen.setLineHeight(130 if level or is_code else LINE_SPACING * 100, _PROPORTIONAL)
    chosen.setTopMargin(em * 0.7 if level and not first else 0)
    chosen.setBottomMargin(0 if last or is_code else em * _space_below(block, level))
    if quoted := chosen.intProperty(QTextFormat.Property.BlockQuoteLevel):
        chosen.setLeftMargin(page.px(4) * quoted)
        chosen.setRightMargin(0)
    if is_code:
        chosen.setBackground(theme.color(Role.CODE))
    take_over(block, chosen)
    return chosen


def _space_below(block: QTextBlock, level: int) -> float:
    """In sizes of the font: items of a list stand closer than paragraphs."""
    if level:
        return 0.35
    following = block.next()
    inside = block.textList() is not None and following.textList() is not None
    return 0.25 if inside else PARAGRAPH


def put_formula(cursor: QTextCursor, span: MathSpan, page: Page, role: Role) -> bool:
    """Put a formula's drawing in place of what is selected; whether there is one."""
    formula = page.typesetter.formula(span.latex, display=span.display)
    if formula is None:
        return False
    form = page.formulas.form(span, formula, page.reading_font, theme.color(role))
    cursor.insertText(OBJECT_CHARACTER, form)
    return True


def _show_source(cursor: QTextCursor, span: MathSpan, page: Page) -> Iterator[Awaited]:
    """Put a formula's source in place of what is selected; it is awaited if it will be drawn."""
    begin = cursor.selectionStart()
    source = QTextCharFormat(page.ink.code)
    source.clearBackground()
    cursor.insertText(span.source, source)
    if page.typesetter.waits_for(span.latex, display=span.display):
        start = QTextCursor(cursor)
        start.setPosition(begin)
        yield Awaited(span, start, cursor.position() - begin)


def _image_to_link(cursor: QTextCursor, ink: QTextCharFormat) -> None:
    image = cursor.charFormat().toImageFormat()
    if not image.isValid():
        return
    words = str(image.property(QTextFormat.Property.ImageAltText) or "") or image.name()
    link = QTextCharFormat(ink)
    link.setAnchor(True)
    link.setAnchorHref(image.name())
    cursor.insertText(words, link)
