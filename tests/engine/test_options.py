"""Nonsense is refused in one place, with the field, the value and the limit."""

import math
from typing import Any

import pytest

from engine.errors import BadOption
from engine.options import GenerationOptions

NONSENSE: list[tuple[dict[str, Any], str]] = [
    ({"temperature": -0.1}, "temperature is -0.1. It must be at least 0"),
    ({"temperature": math.nan}, "temperature is nan"),
    ({"temperature": math.inf}, "temperature is inf"),
    ({"temperature": 10**400}, "temperature is 1000"),
    ({"temperature": True}, "temperature is True"),
    ({"top_p": 0}, "top_p is 0. It must be more than 0 and at most 1"),
    ({"top_p": 1.01}, "top_p is 1.01"),
    ({"top_k": -1}, "top_k is -1"),
    ({"top_k": 1.5}, "top_k is 1.5"),
    ({"min_p": 2}, "min_p is 2"),
    ({"repetition_penalty": 0}, "repetition_penalty is 0"),
    ({"presence_penalty": 2.5}, "presence_penalty is 2.5"),
    ({"frequency_penalty": "1"}, "frequency_penalty is '1'"),
    ({"seed": -1}, "seed is -1"),
    ({"max_tokens": 0}, "max_tokens is 0. It must be a whole number from 1"),
    ({"logit_bias": {3: 101}}, "logit_bias is 101"),
    ({"logit_bias": {-3: 1}}, "logit_bias is -3"),
    ({"stop": ("a", "")}, "stop holds ''"),
]


@pytest.mark.parametrize(("fields", "words"), NONSENSE)
def test_nonsense_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(BadOption) as caught:
        GenerationOptions(**fields)
    assert str(caught.value).startswith(words)
    assert caught.value.remedy


def test_the_limits_themselves_are_allowed() -> None:
    GenerationOptions(
        temperature=0,
        top_k=0,
        top_p=1,
        min_p=0,
        repetition_penalty=0.01,
        presence_penalty=-2,
        frequency_penalty=2,
        seed=2**64 - 1,
        max_tokens=1,
        logit_bias={0: -100, 5: 100},
        stop=("x",),
    )
