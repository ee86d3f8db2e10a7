"""ChatTemplate: a model's own chat template, from its folder.

chat_template.jinja wins over the `chat_template` of tokenizer_config.json, which is one template
or a list of named ones ("default", "tool_use"), as Hugging Face stores them. What a template does
wrong is its own fault and reported as such: TemplateFailed.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from engine.errors import TemplateFailed
from engine.text import sandbox
from engine.text.files import read_json, token_content
from engine.text.guard import Guard
from engine.text.messages import Message, for_template

_CHANGE = "Change the conversation, or choose another model."
_REPLACE = "Download the model again, or choose another one."
_NO_GUARD = Guard()
_PROBE: tuple[Message, ...] = ({"role": "user", "content": "Hi"},)

# What untrusted template code can raise beside Jinja's own errors.
_FAULTS = (
    jinja2.TemplateError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,  # and RecursionError
    SyntaxError,  # of the Python that Jinja makes of it
    TypeError,
    ValueError,
)


class ChatTemplate:
    """Renders conversations. Immutable; any thread may use it."""

    def __init__(
        self,
        source: str,
        tool_source: str | None = None,
        special_tokens: Mapping[str, str] | None = None,
    ) -> None:
        environment = sandbox.ChatEnvironment()
        self._plain = _compile(environment, source)
        self._with_tools = (
            self._plain if tool_source is None else _compile(environment, tool_source)
        )
        self._special_tokens = dict(special_tokens or {})  # "bos_token", "eos_token", …

    @classmethod
    def load(cls, folder: Path) -> "ChatTemplate":
        """Read a model folder's template. Raises TemplateFailed where none is, or a broken one."""
        config = read_json(folder / "tokenizer_config.json")
        named = _named_templates(folder, config)
        source = named.get("default")
        if source is None:
            raise TemplateFailed(
                f"{folder} has no chat template.", "Give it plain prompts instead."
            )
        return cls(source, named.get("tool_use"), _special_tokens(config))

    def render(
        self,
        messages: Sequence[Message],
        guard: Guard = _NO_GUARD,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        thinking: bool | None = None,
        add_generation_prompt: bool = True,
    ) -> str:
        """The text of a conversation, for `Tokenizer.encode_rendered` of the guard's tokenizer.

        `thinking` None leaves the choice to the template. Raises TemplateFailed, BadOption.
        """
        variables: dict[str, Any] = {
            "messages": for_template(messages),
            "tools": list(tools) if tools else None,
            "add_generation_prompt": add_generation_prompt,
        }
        if thinking is not None:
            variables["enable_thinking"] = thinking
        template = self._with_tools if tools else self._plain
        try:
            return sandbox.render(template, {**self._special_tokens, **guard.hide(variables)})
        except _FAULTS as error:
            raise _failure("refused this conversation", error, _CHANGE, guard) from error

    def supports_thinking(self) -> bool:
        """Whether reasoning can be switched: the prompt differs with it on and off."""
        try:
            return self.render(_PROBE, thinking=True) != self.render(_PROBE, thinking=False)
        except TemplateFailed:
            return False


def opens_thinking(rendered: str) -> bool:
    """Whether a rendered prompt ends inside <think>, so that the answer begins as reasoning."""
    return rendered.rstrip().endswith("<think>")


def _compile(environment: sandbox.ChatEnvironment, source: str) -> jinja2.Template:
    try:
        return environment.from_string(source)
    except _FAULTS as error:
        raise _failure("cannot be read", error, _REPLACE) from error


def _failure(what: str, error: Exception, remedy: str, guard: Guard = _NO_GUARD) -> TemplateFailed:
    reason = guard.show(str(error)) or type(error).__name__
    return TemplateFailed(f"The model's chat template {what}: {reason.rstrip('.')}.", remedy)


def _named_templates(folder: Path, config: Mapping[str, Any]) -> dict[str, str]:
    entry = config.get("chat_template")
    entries = entry if isinstance(entry, list) else [{"name": "default", "template": entry}]
    named = {e.get("name"): e.get("template") for e in entries if isinstance(e, dict)}
    texts = {k: v for k, v in named.items() if isinstance(k, str) and isinstance(v, str)}
    try:
        texts["default"] = (folder / "chat_template.jinja").read_text(encoding="utf-8")
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise _failure("cannot be read", error, _REPLACE) from error
    return texts


def _special_tokens(config: Mapping[str, Any]) -> dict[str, str]:
    found = {key: token_content(value) for key, value in config.items() if key.endswith("_token")}
    return {key: content for key, content in found.items() if content is not None}
