"""The prompt that a conversation's branch makes: what the engine is given to answer.

Reasoning is not sent back; the templates do not want it. Answers without text (refused, or
stopped before the first word) are left out. Pure functions.
"""

import re
from collections.abc import Iterable, Sequence

from app.conversation import Attachment, Message
from engine.protocol import ChatMessage


def build_prompt(system_prompt: str, path: Iterable[Message]) -> tuple[ChatMessage, ...]:
    """The branch `path`, first message first. A last answer with text is to be continued."""
    system = (ChatMessage("system", system_prompt),) if system_prompt.strip() else ()
    turns = (ChatMessage(m.role, full_text(m.text, m.attachments)) for m in path)
    return (*system, *(turn for turn in turns if turn.content))


def full_text(text: str, attachments: Sequence[Attachment]) -> str:
    """A turn's words after the files that go with it."""
    return "\n\n".join([*map(_quoted, attachments), text] if text else map(_quoted, attachments))


def _quoted(attachment: Attachment) -> str:
    """A file in a fence that its own text cannot close."""
    runs = re.findall(r"`{3,}", attachment.text)
    fence = "`" * max([3, *(len(run) + 1 for run in runs)])
    return f"{attachment.name}:\n{fence}\n{attachment.text.rstrip()}\n{fence}"
