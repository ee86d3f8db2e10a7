"""The codec refuses what does not fit, with the path of the field, and gives back what it wrote."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.records import BadRecord, from_json, to_json


@dataclass(frozen=True)
class Inner:
    share: float
    name: str = ""


@dataclass(frozen=True)
class Outer:
    count: int
    flag: bool | None = None
    kind: Literal["a", "b"] = "a"
    inner: Inner | None = None
    many: tuple[Inner, ...] = ()
    pairs: tuple[tuple[int, str], ...] = ()
    bias: Mapping[int, float] = field(default_factory=dict)


OUTERS = st.builds(
    Outer,
    count=st.integers(-(2**63), 2**63),
    flag=st.none() | st.booleans(),
    kind=st.sampled_from(["a", "b"]),
    inner=st.none() | st.builds(Inner, st.floats(allow_nan=False, allow_infinity=False), st.text()),
    many=st.lists(st.builds(Inner, st.floats(0, 1))).map(tuple),
    pairs=st.lists(st.tuples(st.integers(0, 9), st.text())).map(tuple),
    bias=st.dictionaries(st.integers(0, 2**31), st.floats(-100, 100)),
)


@given(OUTERS)
@settings(deadline=None)
def test_what_was_written_is_read(outer: Outer) -> None:
    text = json.dumps(to_json(outer))
    assert from_json(Outer, json.loads(text)) == outer


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ([], "Outer is [], expected an object."),
        ({}, "count is missing."),
        ({"count": 1, "extra": 2}, "Outer has an unknown key 'extra'."),
        ({"count": True}, "count is True, expected int."),
        ({"count": 1.0}, "count is 1.0, expected int."),
        ({"count": 2**64}, "count is 18446744073709551616, expected int."),
        ({"count": 1, "flag": 0}, "flag is 0, expected bool."),
        ({"count": 1, "kind": "c"}, "kind is 'c', expected one of a, b."),
        ({"count": 1, "kind": ["a"]}, "kind is ['a'], expected one of a, b."),
        ({"count": 1, "inner": {"share": "1"}}, "inner.share is '1', expected float."),
        ({"count": 1, "inner": {"share": 10**400}}, "inner.share is not a finite number."),
        ({"count": 1, "many": {}}, "many is {}, expected a list."),
        ({"count": 1, "many": [{}]}, "many[0].share is missing."),
        ({"count": 1, "pairs": [[1]]}, "pairs[0] has 1 items, expected 2."),
        ({"count": 1, "bias": {"x": 1.0}}, "bias has the key 'x', expected a whole number."),
        ({"count": 1, "bias": {"١": 1.0}}, "bias has the key '١', expected a whole number."),
        ({"count": 1, "bias": [1]}, "bias is [1], expected an object."),
        ({"count": 1, "inner": {"share": 1, "name": "\ud800"}}, "inner.name is '\\ud800'"),
    ],
)
def test_what_does_not_fit_is_named(value: Any, sentence: str) -> None:
    with pytest.raises(BadRecord) as caught:
        from_json(Outer, value)
    assert str(caught.value).startswith(sentence)


def test_nan_is_refused() -> None:
    with pytest.raises(BadRecord, match="not a finite number"):
        from_json(Inner, {"share": float("nan")})


def test_long_values_are_cut_in_messages() -> None:
    with pytest.raises(BadRecord) as caught:
        from_json(Outer, {"count": "x" * 10_000})
    assert len(str(caught.value)) < 120
