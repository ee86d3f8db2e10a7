"""Prompt: a conversation as the ids that a model reads. The one door from messages to ids."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.text.messages import Message
from engine.text.template import ChatTemplate, opens_thinking
from engine.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Prompt:
    """Ids, and whether the answer to them begins inside <think>."""

    ids: tuple[int, ...]
    opens_thinking: bool


def chat_prompt(
    tokenizer: Tokenizer,
    template: ChatTemplate,
    messages: Sequence[Message],
    *,
    tools: Sequence[Mapping[str, Any]] | None = None,
    thinking: bool | None = None,
) -> Prompt:
    """Render and encode; nothing typed in `messages` or `tools` becomes a control token."""
    rendered = template.render(messages, tokenizer.guard, tools=tools, thinking=thinking)
    return Prompt(tuple(tokenizer.encode_rendered(rendered)), opens_thinking(rendered))
