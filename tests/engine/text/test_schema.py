from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.text.schema import parse_json, typed

ROOT: dict[str, Any] = {
    "$defs": {
        "Count": {"type": "integer"},
        "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}, {"$ref": "#/$defs/Count"}]},
        "a/b~c": {"type": "boolean"},
    }
}
MAYBE_NUMBER = {"anyOf": [{"type": "number"}, {"type": "null"}]}


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("5", {"type": "string"}, "5"),
        ("5", {"type": "integer"}, 5),
        ("5.0", {"type": "integer"}, 5),
        ("5.5", {"type": "integer"}, "5.5"),
        ("true", {"type": "integer"}, "true"),
        (" -1.5e3 ", {"type": "number"}, -1500.0),
        ("NaN", {"type": "number"}, "NaN"),
        ("1e999", {"type": "number"}, "1e999"),
        ("True", {"type": "boolean"}, True),
        ("false", {"type": "boolean"}, False),
        ("yes", {"type": "boolean"}, "yes"),
        ("null", {"type": "null"}, None),
        ('{"a": [1]}', {"type": "object"}, {"a": [1]}),
        ("[1]", {"type": "object"}, "[1]"),
        ('[1, "x"]', {"type": "array"}, [1, "x"]),
        ("null", MAYBE_NUMBER, None),
        ("None", MAYBE_NUMBER, None),
        ("2", MAYBE_NUMBER, 2),
        ("null", {"type": "string"}, "null"),
        ("null", {"type": ["string", "null"]}, None),
        ("7", {"type": ["string", "integer"]}, "7"),
        ("7", {"oneOf": [{"type": "integer"}, {"type": "string"}]}, 7),
        ("x", {"oneOf": [{"type": "integer"}, {"type": "string"}]}, "x"),
        ("3", {"$ref": "#/$defs/Count"}, 3),
        ("3", {"allOf": [{"$ref": "#/$defs/Count"}], "default": 1}, 3),
        ("3", {"$ref": "#/$defs/Loop"}, 3),
        ("true", {"$ref": "#/$defs/a~1b~0c"}, True),
        ("3", {"$ref": "#/missing/0"}, 3),
        ("2", {"enum": ["1", "2"]}, "2"),
        ("2", {"enum": [1, 2]}, 2),
        ("x", {"const": "x"}, "x"),
        ("5", {}, 5),
        ("5 apples", {}, "5 apples"),
        ("5", None, 5),
        ("5", {"type": "unheard"}, 5),
        ("5", {"type": [1, None]}, 5),
        ("", {"type": "integer"}, ""),
        ("line\nbreak", {"type": "string"}, "line\nbreak"),
    ],
)
def test_texts_become_what_the_schema_wants(text: str, schema: Any, value: Any) -> None:
    result = typed(text, schema, ROOT)
    assert (result, type(result)) == (value, type(value))


@pytest.mark.parametrize("value", [5, None, [1], {"a": 1}, True])
def test_values_that_have_a_type_keep_it(value: Any) -> None:
    assert typed(value, {"type": "string"}, {}) is value


def test_json_may_hold_line_breaks_but_no_constants_beyond_json() -> None:
    assert parse_json('{"a": "x\ny"}') == {"a": "x\ny"}
    for text in ("NaN", "[Infinity]", "1e999", "[" * 100_000, "{'a': 1}", ""):
        with pytest.raises(ValueError, match=r".*"):
            parse_json(text)


SCHEMAS = st.recursive(
    st.none() | st.text(max_size=3) | st.integers() | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "anyOf", "oneOf", "$ref", "enum", "const"]), inner
        )
    ),
    max_leaves=8,
)


@given(st.text(max_size=6), SCHEMAS)
@settings(deadline=None, max_examples=300)
def test_any_schema_is_borne(text: str, schema: Any) -> None:
    root = schema if isinstance(schema, dict) else {}
    result = typed(text, schema, root)
    assert result == text or not isinstance(result, str) or f'"{result}"' in text
