"""Emphasis next to letters that need no spaces."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.blocks.emphasis import mend_emphasis


@pytest.mark.parametrize(
    ("markdown", "mended"),
    [
        ("**注意：**文字", "**注意**：文字"),
        ("**重要。**次に", "**重要**。次に"),
        ("他说**「你好」**然后", "他说「**你好**」然后"),
        ("**Note:**text", "**Note**:text"),
        ("**Note:** text", "**Note:** text"),
        ("**好**的", "**好**的"),
        ("`**a:**b`", "`**a:**b`"),
        ("``x ` **a:**b``", "``x ` **a:**b``"),
        ("2**3 and 4**5", "2**3 and 4**5"),
        ("**a** b **c**", "**a** b **c**"),
        ("no stars", "no stars"),
    ],
)
def test_mended(markdown: str, mended: str) -> None:
    assert mend_emphasis(markdown) == mended


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="a好：「」*_` \n", max_size=40))
def test_letters_and_their_order_stay(markdown: str) -> None:
    def bare(text: str) -> str:
        return "".join(c for c in text if c not in "*_")

    assert bare(mend_emphasis(markdown)) == bare(markdown)
