"""Guard: tells what people typed from what a template wrote, inside one rendered text.

A control token such as `<|im_end|>` is plain text in tokenizer files and templates, so typed text
could pose as one. Before rendering, the guard swaps the characters that open control tokens for
lone surrogates, which no valid text holds; after the control tokens have been found, it swaps them
back. Templates see typed text otherwise unchanged: trimming and joining work as they should, and
parts that a template joins cannot form a control token either.
"""

from collections.abc import Iterable, Mapping
from typing import Any

_FIRST_SURROGATE = 0xDC00


class Guard:
    """Hides the first characters of the control tokens named."""

    def __init__(self, control_tokens: Iterable[str] = ()) -> None:
        openers = sorted({token[0] for token in control_tokens if opens_control(token)})
        self._hidden = {ord(c): _FIRST_SURROGATE + i for i, c in enumerate(openers)}
        self._shown = {hidden: opener for opener, hidden in self._hidden.items()}

    def hide(self, value: Any) -> Any:
        """A copy of JSON-like data whose texts cannot begin a control token."""
        if isinstance(value, str):
            return well_formed(value).translate(self._hidden)
        if isinstance(value, Mapping):
            return {self.hide(key): self.hide(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.hide(item) for item in value]
        if value is None or isinstance(value, bool | int | float):
            return value
        raise TypeError(f"a template cannot be given a {type(value).__name__}")

    def show(self, text: str) -> str:
        """The text as it was before `hide`."""
        return text.translate(self._shown)


def opens_control(token: str) -> bool:
    """Whether a token looks like a control token: words and blanks are vocabulary."""
    return bool(token) and not token[0].isalnum() and not token[0].isspace()


def well_formed(text: str) -> str:
    """Text that UTF-8 can hold: surrogate pairs joined, lone surrogates replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
