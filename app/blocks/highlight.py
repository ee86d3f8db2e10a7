"""Which words of code are what, by Pygments. Slow (up to 0.5 ms a line): not for the UI thread.

Knows nothing about colours.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]  # has no stubs
from pygments.token import Token  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

from app.blocks.drawing import Ink, Span

_INKS = (
    (Token.Comment, Ink.COMMENT),
    (Token.Keyword.Constant, Ink.NUMBER),
    (Token.Keyword, Ink.KEYWORD),
    (Token.Operator.Word, Ink.KEYWORD),
    (Token.Literal.String, Ink.STRING),
    (Token.Literal, Ink.NUMBER),
    (Token.Name.Function, Ink.NAME),
    (Token.Name.Class, Ink.NAME),
    (Token.Name.Tag, Ink.KEYWORD),
    (Token.Name.Attribute, Ink.NAME),
    (Token.Name.Decorator, Ink.NAME),
    (Token.Name.Builtin, Ink.BUILTIN),
    (Token.Name.Exception, Ink.BUILTIN),
    (Token.Generic.Inserted, Ink.ADDED),
    (Token.Generic.Deleted, Ink.REMOVED),
    (Token.Generic.Heading, Ink.COMMENT),
    (Token.Generic.Subheading, Ink.COMMENT),
)


def highlight(code: str, language: str) -> Iterator[list[Span]]:
    """The spans of one line after another. Nothing for a language that Pygments does not know."""
    lexer = _lexer(language)
    if lexer is None:
        return
    line: list[Span] = []
    column = 0
    for kind, text in lexer.get_tokens(code):
        ink = _ink(kind)
        for part in text.splitlines(keepends=True) if "\n" in text else (text,):
            width = _width(part.removesuffix("\n"))
            if ink and width:
                line.append((column, width, ink))
            column += width
            if part.endswith("\n"):
                yield line
                line, column = [], 0


@cache
def _lexer(language: str) -> Any:
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=True)
    except ClassNotFound:
        return None


@cache
def _ink(kind: Any) -> int:
    return next((ink for family, ink in _INKS if kind in family), 0)


def _width(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2
