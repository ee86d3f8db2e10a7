"""Tool arguments as their JSON Schema wants them: models write many of them as bare text."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

Schema = Mapping[str, Any]


def parse_json(text: str) -> Any:
    """JSON as models write it: line breaks inside texts pass. Raises ValueError."""
    try:
        return _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def typed(value: Any, schema: object, root: Schema) -> Any:
    """`value` in the first type of `schema` that it fits; itself where it fits none.

    Only texts are converted. `root` is what `$ref` refers to.
    """
    if not isinstance(value, str):
        return value
    kinds = _kinds(schema, root, set()) or ["any"]
    if "null" in kinds and value.strip().lower() in ("null", "none"):
        return None
    for kind in kinds:
        try:
            return _READERS[kind](value)
        except ValueError:
            continue
    return value


def _kinds(schema: object, root: Schema, seen: set[str]) -> list[str]:
    """The type names that a schema allows, in its order; each reference is followed once."""
    if not isinstance(schema, Mapping):
        return []
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return [] if reference in seen else _kinds(_resolve(reference, root, seen), root, seen)
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(key), list):
            return [kind for option in schema[key] for kind in _kinds(option, root, seen)]
    return _named_kinds(schema)


def _named_kinds(schema: Schema) -> list[str]:
    named = schema.get("type")
    if named is not None:
        names = named if isinstance(named, list) else [named]
        return [name for name in names if isinstance(name, str) and name in _READERS]
    values = schema["enum"] if isinstance(schema.get("enum"), list) else []
    values = [schema["const"]] if "const" in schema else values
    return [_KIND_OF.get(type(value), "any") for value in values]


def _resolve(reference: str, root: Schema, seen: set[str]) -> object:
    seen.add(reference)
    found: object = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        key = step.replace("~1", "/").replace("~0", "~")  # RFC 6901
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _read_any(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return text


def _read_boolean(text: str) -> bool:
    word = text.strip().lower()  # templates show earlier calls with Python's True and False
    if word not in ("true", "false"):
        raise ValueError(text)
    return word == "true"


def _read_integer(text: str) -> int:
    value = _reader(int, float)(text)
    if value != int(value):
        raise ValueError(text)
    return int(value)


def _reader(*types: type) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        value = parse_json(text)
        if type(value) not in types:
            raise ValueError(text)
        return value

    return read


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} is too large")
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=_refuse)

_READERS: dict[str, Callable[[str], Any]] = {
    "string": str,
    "integer": _read_integer,
    "number": _reader(int, float),
    "boolean": _read_boolean,
    "object": _reader(dict),
    "array": _reader(list),
    "null": _reader(type(None)),
    "any": _read_any,
}

_KIND_OF = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
