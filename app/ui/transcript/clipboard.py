"""What is copied: of messages their source and rich text, of a selection what is seen."""

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, QMimeData
from PySide6.QtGui import QTextCursor, QTextDocument

from app.blocks.math_span import cut_math
from app.conversation import Message
from app.ui.transcript.markdown import FEATURES
from app.ui.transcript.reading import plain_text
from app.ui.transcript.text import Excerpt

translate = QCoreApplication.translate

LONGEST_RICH = 200_000  # characters; longer texts are copied without rich text


def messages_mime(messages: Sequence[Message]) -> QMimeData:
    """The source as text and as Markdown, and the same as rich text."""
    source = source_of_messages(messages)
    mime = QMimeData()
    mime.setText(source)
    mime.setData("text/markdown", source.encode())
    if len(source) <= LONGEST_RICH:
        mime.setHtml(_rendered(source).toHtml())
    return mime


def messages_plain(messages: Sequence[Message]) -> str:
    """The words without Markdown's marks."""
    return _joined(
        [message.text if message.role == "user" else _plain(message.text) for message in messages],
        messages,
        "%1:",
    )


def excerpts_mime(excerpts: Sequence[Excerpt]) -> QMimeData:
    """A selection that runs through several texts."""
    mime = QMimeData()
    mime.setText("\n\n".join(excerpt.plain for excerpt in excerpts))
    document = QTextDocument()
    cursor = QTextCursor(document)
    for excerpt in excerpts:
        cursor.insertHtml(excerpt.html)
        cursor.insertBlock()
    mime.setHtml(document.toHtml())
    return mime


def source_of_messages(messages: Sequence[Message]) -> str:
    """The Markdown of messages; who wrote them, where there are several."""
    return _joined([message.text for message in messages], messages, "**%1:**")


def _joined(texts: Sequence[str], messages: Sequence[Message], heading: str) -> str:
    if len(texts) == 1:
        return texts[0]
    names = {
        "user": translate("clipboard", "You"),
        "assistant": translate("clipboard", "Assistant"),
    }
    return "\n\n".join(
        f"{heading.replace('%1', names[message.role])}\n\n{text.strip()}"
        for message, text in zip(messages, texts, strict=True)
    )


def _plain(markdown: str) -> str:
    return plain_text(_rendered(markdown))


def _rendered(markdown: str) -> QTextDocument:
    """A whole message as a document, formulas as they were written."""
    cut = cut_math(markdown)
    document = QTextDocument()
    document.setMarkdown(cut.text, FEATURES)
    for mark, span in cut.spans.items():
        found = document.find(mark)
        if not found.isNull():
            found.insertText(span.source)
    return document
