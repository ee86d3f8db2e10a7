"""Frozen dataclasses to JSON values and back, strictly: the codec of what we store and send.

`from_json` trusts nothing: a missing or unknown key, a wrong type, a number that is not finite or
a text that is not Unicode raises BadRecord with the path of the field.
"""

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Record = TypeVar("Record")


class BadRecord(ValueError):
    """A JSON value does not have the shape of the record asked for."""


def to_json(value: Any) -> Any:
    """`value` as JSON values: dataclasses to objects, tuples to lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    return value


def from_json(kind: type[Record], value: object, path: str = "") -> Record:
    """A `kind` (a dataclass) from a JSON object. Raises BadRecord; errors of `kind` itself pass."""
    if not isinstance(value, dict):
        raise BadRecord(f"{path or kind.__name__} is {_shown(value)}, expected an object.")
    known = _field_types(kind)  # type: ignore[arg-type]  # classes are hashable
    if unknown := value.keys() - known.keys():
        raise BadRecord(f"{path or kind.__name__} has an unknown key {min(unknown)!r}.")
    return kind(**dict(_read_fields(known, value, path)))


@cache
def _field_types(kind: type) -> dict[str, tuple[Field[Any], Any]]:
    hints = get_type_hints(kind)
    return {f.name: (f, hints[f.name]) for f in fields(kind)}


def _read_fields(
    known: dict[str, tuple[Field[Any], Any]], value: dict[str, object], path: str
) -> Any:
    for name, (field, hint) in known.items():
        at = f"{path}.{name}" if path else name
        if name in value:
            yield name, _read(hint, value[name], at)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise BadRecord(f"{at} is missing.")


def _read(hint: Any, value: object, path: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _read_literal(arguments, value, path)
    if origin in (Union, types.UnionType):
        return _read_union(arguments, value, path)
    if origin is tuple:
        return _read_tuple(arguments, value, path)
    if origin is not None and issubclass(origin, Mapping):
        return _read_mapping(arguments, value, path)
    if is_dataclass(hint) and isinstance(hint, type):
        return from_json(hint, value, path)
    return _read_scalar(hint, value, path)


def _read_literal(choices: tuple[Any, ...], value: object, path: str) -> Any:
    if isinstance(value, str) and value in choices:
        return value
    raise BadRecord(f"{path} is {_shown(value)}, expected one of {', '.join(choices)}.")


def _read_union(members: tuple[Any, ...], value: object, path: str) -> Any:
    """Only `X | None` occurs in our records."""
    if value is None and type(None) in members:
        return None
    (member,) = (m for m in members if m is not type(None))
    return _read(member, value, path)


def _read_tuple(arguments: tuple[Any, ...], value: object, path: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise BadRecord(f"{path} is {_shown(value)}, expected a list.")
    if arguments[-1] is Ellipsis:
        return tuple(_read(arguments[0], v, f"{path}[{i}]") for i, v in enumerate(value))
    if len(value) != len(arguments):
        raise BadRecord(f"{path} has {len(value)} items, expected {len(arguments)}.")
    pairs = zip(arguments, value, strict=True)
    return tuple(_read(hint, v, f"{path}[{i}]") for i, (hint, v) in enumerate(pairs))


def _read_mapping(arguments: tuple[Any, ...], value: object, path: str) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise BadRecord(f"{path} is {_shown(value)}, expected an object.")
    key_type, value_type = arguments
    return {
        _read_key(key_type, key, path): _read(value_type, item, f"{path}[{key!r}]")
        for key, item in value.items()
    }


def _read_key(hint: Any, key: str, path: str) -> Any:
    if hint is str:
        return key
    if key.isascii() and key.isdigit() and len(key) < 20:
        return int(key)
    raise BadRecord(f"{path} has the key {_shown(key)}, expected a whole number.")


def _read_scalar(hint: Any, value: object, path: str) -> Any:
    if hint is float and type(value) in (int, float):
        return _read_float(value, path)
    if hint is int and type(value) is int and abs(value) < 2**64:
        return value
    if hint is str and isinstance(value, str) and _is_unicode(value):
        return value
    if hint is bool and isinstance(value, bool):
        return value
    raise BadRecord(f"{path} is {_shown(value)}, expected {getattr(hint, '__name__', hint)}.")


def _read_float(value: Any, path: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise BadRecord(f"{path} is not a finite number.")
    return number


def _is_unicode(text: str) -> bool:
    """JSON can smuggle in lone surrogates, which neither UTF-8 nor SQLite can hold."""
    return not any("\ud800" <= c <= "\udfff" for c in text) if not text.isascii() else True


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
