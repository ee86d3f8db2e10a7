"""The Jinja environment in which chat templates run: sandboxed and bounded.

Templates come with downloaded models. They see plain data only, cannot change it, and are stopped
when they loop for too long or make too much text. What they may use beyond Jinja itself is what
published templates expect: `raise_exception`, `strftime_now`, `tojson` without HTML escapes, loop
controls, and `{% generation %}` blocks, which mark training text and mean nothing here.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sized
from datetime import datetime
from typing import Any, NoReturn, cast

import jinja2
from jinja2 import nodes, pass_context
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

MAX_STEPS = 1_000_000  # loop rounds and calls of one rendering; a long chat takes some thousands
MAX_LENGTH = 16 * 2**20  # characters of a text, items of a list; the longest contexts hold 1M
MAX_BITS = 1024  # of a whole number

_STEPS = "steps taken"  # with blanks, so that no template can name it


class LimitExceeded(jinja2.TemplateError):
    """A template ran for too long or made too much."""


class ChatEnvironment(ImmutableSandboxedEnvironment):
    """Compiles chat templates with the whitespace rules that they are written for."""

    intercepted_binops = frozenset(["+", "*", "**"])

    def __init__(self) -> None:
        extensions = ["jinja2.ext.loopcontrols", _GenerationBlock]
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
        self.filters |= {"tojson": _tojson, "counted": _counted, "bounded": _bounded}
        self.globals |= {"raise_exception": _raise_exception, "strftime_now": _strftime_now}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        limited: nodes.Template = _Limits().visit(tree)
        return limited

    @staticmethod
    def concat(pieces: Iterable[str]) -> str:
        """Join what the template, one of its macros or blocks wrote."""
        length, kept = 0, []
        for piece in pieces:
            length += len(piece)
            if length > MAX_LENGTH:
                raise LimitExceeded(f"it writes more than {MAX_LENGTH} characters")
            kept.append(piece)
        return "".join(kept)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute `left operator right`, unless the result would be too large to hold."""
        if operator == "**" and isinstance(left, int) and isinstance(right, int):
            _check_size(left.bit_length() * right, MAX_BITS)
        if operator == "*":
            _check_size(_repeated_length(left, right), MAX_LENGTH)
        return _bounded(super().call_binop(context, operator, left, right))

    def call(self, context: Context, called: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call something for a template; counts as a step."""
        context.parent[_STEPS].take()
        return super().call(context, called, *args, **kwargs)


def render(template: jinja2.Template, variables: dict[str, Any]) -> str:
    """Run a template of `ChatEnvironment`. Raises whatever the template provokes."""
    return template.render({**variables, _STEPS: _Steps()})


class _Steps:
    def __init__(self) -> None:
        self._left = MAX_STEPS

    def take(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise LimitExceeded(f"it takes more than {MAX_STEPS} steps")


class _Limits(NodeTransformer):
    """Counts the rounds of loops and bounds what `~` joins: Jinja offers no hook for these."""

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802 - Jinja's naming
        self.generic_visit(node)
        node.iter = _filtered(node.iter, "counted")
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:  # noqa: N802
        self.generic_visit(node)
        return _filtered(node, "bounded")


def _filtered(node: nodes.Node, name: str) -> nodes.Filter:
    return nodes.Filter(cast("nodes.Expr", node), name, [], [], None, None, lineno=node.lineno)


@pass_context
def _counted(context: Context, items: Iterable[Any]) -> Iterator[Any]:
    steps = context.parent[_STEPS]
    for item in items:
        steps.take()
        yield item


def _bounded(value: Any) -> Any:
    if isinstance(value, int):
        _check_size(value.bit_length(), MAX_BITS)
    elif isinstance(value, Sized):
        _check_size(len(value), MAX_LENGTH)
    return value


def _repeated_length(left: Any, right: Any) -> int:
    if isinstance(left, int) and isinstance(right, str | list | tuple):
        left, right = right, left
    return len(left) * right if isinstance(left, str | list | tuple) else 0


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise LimitExceeded(f"it makes something of size {size}, above the limit of {limit}")


class _GenerationBlock(Extension):
    tags = {"generation"}  # noqa: RUF012 - Jinja's interface

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    text = json.dumps(
        value, ensure_ascii=False, indent=indent, separators=separators, sort_keys=sort_keys
    )
    return _NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text) if ensure_ascii else text


_NOT_ASCII = re.compile(r"[^\x00-\x7f\ud800-\udfff]")  # the guard's surrogates pass


def _raise_exception(message: object) -> NoReturn:
    raise jinja2.TemplateError(str(message))


def _strftime_now(form: str) -> str:
    return datetime.now().strftime(form)
