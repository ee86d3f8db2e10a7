"""A conversation as a Markdown page for people: the branch that is shown, thinking as a quote."""

import time
from collections.abc import Iterable, Iterator

from app.conversation import Conversation, Message
from app.prompt import full_text

_NAMES = {"user": "You", "assistant": "Martlet"}
_NOTES = {
    "stopped": "*Stopped here.*",
    "interrupted": "*Interrupted here.*",
    "failed": "*Not finished.*",
}


def to_markdown(conversation: Conversation, messages: Iterable[Message]) -> str:
    """The page."""
    date = time.strftime("%Y-%m-%d", time.localtime(conversation.created_at))
    parts = [f"# {conversation.title}", f"*{date}*", *map(_section, messages)]
    return "\n\n".join(parts) + "\n"


def _section(message: Message) -> str:
    return "\n\n".join(_blocks(message))


def _blocks(message: Message) -> Iterator[str]:
    name = _NAMES[message.role]
    yield f"## {name} ({message.model})" if message.model else f"## {name}"
    if message.reasoning.strip():
        yield _quote(f"Thinking\n\n{message.reasoning.strip()}")
    if text := full_text(message.text, message.attachments):
        yield text
    if message.status in _NOTES:
        yield _NOTES[message.status]


def _quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
