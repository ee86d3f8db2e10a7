"""The `tools` of a chat request, checked, as the model's template renders them.

Calls are never forced: `tool_choice` knows `auto` and `none`. `strict` is taken as a wish; the
arguments of a call have the types of their schema wherever the model's words allow it.
"""

import re
from typing import Any

from engine.server.faults import refused
from engine.server.fields import Fields, unsupported, wrong_type

MAX_DEPTH = 64  # of a schema
_NAME = re.compile(r"[\w.:/-]{1,128}")

Tool = dict[str, Any]


def parse_tools(fields: Fields) -> tuple[Tool, ...]:
    """Take `tools` and `tool_choice`: what the model may call. Raises ApiError."""
    given = fields.items("tools") or []
    path = fields.path("tools")
    tools = tuple(_tool(Fields(tool, f"{path}[{i}]")) for i, tool in enumerate(given))
    choice = fields.take("tool_choice")
    if choice not in (None, "auto", "none"):
        raise unsupported(fields.path("tool_choice"), choice)
    return () if choice == "none" else tools


def _tool(fields: Fields) -> Tool:
    kind = fields.needed_text("type")
    if kind != "function":
        raise unsupported(fields.path("type"), kind)
    function = fields.needed("function", fields.object("function"))
    name = function.needed_text("name")
    if not _NAME.fullmatch(name):
        raise refused(
            f"{function.path('name')} must be 1 to 128 letters, digits and _.:/-.",
            function.path("name"),
        )
    declared: Tool = {"name": name}
    if description := function.text("description"):
        declared["description"] = description
    declared["parameters"] = _schema(function)
    function.flag("strict")
    return {"type": "function", "function": declared}


def _schema(function: Fields) -> dict[str, Any]:
    schema = function.take("parameters")
    if schema is None:
        return {"type": "object", "properties": {}}
    if not isinstance(schema, dict):
        raise wrong_type(function.path("parameters"), "a JSON Schema object", schema)
    if not _shallow(schema, MAX_DEPTH):
        path = function.path("parameters")
        raise refused(f"{path} is nested deeper than {MAX_DEPTH} levels.", path)
    return schema


def _shallow(value: object, left: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return left > 0 and all(_shallow(item, left - 1) for item in inner)
