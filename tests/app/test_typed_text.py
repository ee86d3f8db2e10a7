"""What can be typed or pasted can be stored."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.typed_text import storable


@given(st.text(st.characters(codec=None, exclude_categories=())))
@settings(deadline=None)
def test_any_text_becomes_storable(text: str) -> None:
    stored = storable(text)
    assert json.loads(json.dumps(stored).encode()) == stored.encode().decode()
    assert "\0" not in stored


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("plain é 漢 \U0001f600\n", "plain é 漢 \U0001f600\n"),
        ("\ud83d\ude00", "\U0001f600"),
        ("a\ud83db", "a\ufffdb"),
        ("a\0b", "a\ufffdb"),
    ],
)
def test_only_what_cannot_be_stored_changes(text: str, stored: str) -> None:
    assert storable(text) == stored
