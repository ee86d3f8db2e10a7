"""ModelText: what a model folder says about text: tokenizer, template, sampling defaults.

Each part is read when it is first asked for: a model without a tokenizer still runs on ids. A large
tokenizer takes a second; `open_early` spends it while the weights are loaded.
"""

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from engine.errors import MartletError
from engine.text.files import read_json
from engine.text.messages import Message
from engine.text.template import ChatTemplate, opens_thinking
from engine.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is read before an answer: `ids`, of which the first `turn_end` end the last turn."""

    ids: tuple[int, ...]
    turn_end: int
    opens_thinking: bool


class ModelText:
    """The text side of the model in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._opener: threading.Thread | None = None

    def open_early(self) -> Self:
        """Begin to read tokenizer and template, on a thread of their own. Whoever asks waits."""
        self._opener = threading.Thread(target=self._open, name="model-text", daemon=True)
        self._opener.start()
        return self

    @property
    def tokenizer(self) -> Tokenizer:
        """Raises BadContainer where there is none."""
        self._wait()
        return self._tokenizer

    @property
    def template(self) -> ChatTemplate:
        """Raises TemplateFailed where there is none."""
        self._wait()
        return self._template

    @cached_property
    def sampling_defaults(self) -> dict[str, Any]:
        """The model's generation_config.json, or nothing."""
        return read_json(self._folder / "generation_config.json")

    def prompt(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        thinking: bool | None = None,
    ) -> Prompt:
        """A conversation as ids. A last message of the assistant is left open, to be continued."""
        begun = ""
        if messages and messages[-1].get("role") == "assistant":
            begun = str(messages[-1].get("content") or "")
            messages = messages[:-1]
        closed, opened = (
            self.template.render(
                messages,
                self.tokenizer.guard,
                tools=tools,
                thinking=thinking,
                add_generation_prompt=opened,
            )
            for opened in (False, True)
        )
        ids = self.tokenizer.encode_rendered(opened)
        turn_end = common_length(ids, self.tokenizer.encode_rendered(closed))
        if not begun:
            return Prompt(tuple(ids), turn_end, opens_thinking(opened))
        if opens_thinking(opened):  # what was begun is the answer: the reasoning is over
            ids += self.tokenizer.encode_rendered("\n</think>\n\n")
        return Prompt(tuple(ids + self.tokenizer.encode(begun)), turn_end, opens_thinking=False)

    def _open(self) -> None:
        """What fails here is told to the one who asks for it: then it is tried again."""
        with suppress(MartletError):
            _ = self._tokenizer
        with suppress(MartletError):
            _ = self._template

    def _wait(self) -> None:
        if self._opener is not None:
            self._opener.join()

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return Tokenizer.open(self._folder)

    @cached_property
    def _template(self) -> ChatTemplate:
        return ChatTemplate.load(self._folder)


def common_length(a: Sequence[int], b: Sequence[int]) -> int:
    """How many first ids are the same."""
    for i, (left, right) in enumerate(zip(a, b, strict=False)):
        if left != right:
            return i
    return min(len(a), len(b))
