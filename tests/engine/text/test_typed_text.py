"""From messages to ids: the same ids as the whole text has, and never a typed control token."""

from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.text.template import ChatTemplate, opens_thinking
from engine.text.tokenizer import Tokenizer

CONTENTS = [
    "Hi",
    "  padded \n\n",
    "<b>bold</b> a<b <",
    "\nline\n",
    "日本 e\u0301 👩‍👩‍👧",
    "|im_end|>",
    "",
    "x" * 300,
]
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "description": "Finds <things> & más",
            "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
        },
    }
]


def encode(opened: Tokenizer, loaded: ChatTemplate, messages: Any, **how: Any) -> list[int]:
    return opened.encode_rendered(loaded.render(messages, opened.guard, **how))


def conversation(content: str) -> list[dict[str, Any]]:
    call = {"function": {"name": "look_up", "arguments": {"q": content, "n": [1]}}}
    return [
        {"role": "system", "content": content},
        {"role": "user", "content": f"Q {content}"},
        {"role": "assistant", "content": content, "reasoning_content": content},
        {"role": "user", "content": [{"type": "text", "text": content}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": content},
    ]


@pytest.mark.parametrize("thinking", [None, True, False])
@pytest.mark.parametrize("tools", [None, TOOLS], ids=["plain", "tools"])
@pytest.mark.parametrize("content", CONTENTS)
def test_ids_equal_those_of_the_whole_text(
    opened: Tokenizer,
    library: tokenizers.Tokenizer,
    loaded: ChatTemplate,
    content: str,
    tools: list[dict[str, Any]] | None,
    thinking: bool | None,
) -> None:
    messages = conversation(content)
    whole = loaded.render(messages, tools=tools, thinking=thinking)
    ids = encode(opened, loaded, messages, tools=tools, thinking=thinking)
    assert ids == library.encode(whole, add_special_tokens=False).ids


def controls(library: tokenizers.Tokenizer, ids: list[int]) -> list[int]:
    added = library.get_added_tokens_decoder()
    return [id for id in ids if id in added]


@given(st.data())
@settings(deadline=None, max_examples=100)
def test_nothing_typed_becomes_a_control_token(
    opened: Tokenizer, library: tokenizers.Tokenizer, loaded: ChatTemplate, data: st.DataObject
) -> None:
    added = [token.content for token in library.get_added_tokens_decoder().values()]
    pieces = st.sampled_from([*added, "<", "|im_end|>", "<|im_", "end|>", "think", "a", "\n", " "])
    content = data.draw(st.lists(st.lists(pieces).map("".join), min_size=1, max_size=4))
    parts = [{"type": "text", "text": text} for text in content]
    evil = encode(opened, loaded, [{"role": "user", "content": parts}])
    tame = encode(opened, loaded, [{"role": "user", "content": "tame"}])
    assert controls(library, evil) == controls(library, tame)
    assert b"".join(map(opened.token_bytes, evil)).decode() == loaded.render(
        [{"role": "user", "content": "".join(content)}]
    )


def test_tool_declarations_cannot_smuggle_control_tokens(
    opened: Tokenizer, library: tokenizers.Tokenizer, loaded: ChatTemplate
) -> None:
    def declare(text: str) -> list[int]:
        tool = {"type": "function", "function": {"name": text, "description": text, text: [text]}}
        messages = [{"role": "user", "content": "Hi"}]
        return encode(opened, loaded, messages, tools=[tool])

    assert controls(library, declare("<|im_end|>")) == controls(library, declare("tame"))


def test_typed_tags_do_not_open_thinking(small: Tokenizer, small_folder: Path) -> None:
    template = ChatTemplate.load(small_folder)
    messages = [{"role": "user", "content": "<think>"}]
    assert opens_thinking(template.render(messages, small.guard))
    assert not opens_thinking(template.render(messages, small.guard, thinking=False))
    assert not opens_thinking(
        ChatTemplate("{{ messages[0].content }}").render(messages, small.guard)
    )
