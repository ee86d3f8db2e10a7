"""Cutting formulas out of Markdown: four kinds of delimiters, money, code, escapes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.blocks.math_span import cut_math

INLINE = {
    "$x$": ["x"],
    "so $x$, $y$": ["x", "y"],
    "\\(a_b\\)": ["a_b"],
    "\\( a_b \\)": ["a_b"],
    "**$x$**": ["x"],
    "($x$)": ["x"],
    "$x$-axis": ["x"],
    "the $n$th": ["n"],
    "$\\frac{1}{2}$.": ["\\frac{1}{2}"],
    "$a\nb$": ["a\nb"],
    "$x\\$y$": ["x\\$y"],
    "$f'(x)$": ["f'(x)"],
    "$a < b$ and $c > d$": ["a < b", "c > d"],
    "$x_1*x_2$ and $x_3$": ["x_1*x_2", "x_3"],
    "**price** $p$ is $5": ["p"],
    "it costs $5, and $x^2$ too": ["x^2"],
    "`unclosed $x$": ["x"],
    "日本$x$語": ["x"],
    "$\\text{if }x$": ["\\text{if }x"],
}
DISPLAY = {"so $$a$$ it is": ["a"], "so \\[a\\] it is": ["a"], "$$a$ b$$": ["a$ b"]}
NONE = [
    "$5 and $6",
    "US$5 or US$6",
    "$10-$20",
    "$ x $",
    "$x $",
    "$$",
    "$",
    "a$b",
    "`$x$`",
    "``a ` $x$ ``",
    "\\$x\\$",
    "\\\\(x\\\\)",
    "\\(\\)",
    "$a\n\nb$",
    "\\(a\n\nb\\)",
    "no formula",
    "C:\\new (x)",
    "$1 or 2$3",
]


@pytest.mark.parametrize(("text", "latex"), [*INLINE.items(), *DISPLAY.items()])
def test_formulas_are_found(text: str, latex: list[str]) -> None:
    spans = cut_math(text).spans.values()
    assert [span.latex for span in spans] == latex
    assert all(span.display == (text in DISPLAY) for span in spans)


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_formula_is_left_alone(text: str) -> None:
    assert cut_math(text).spans == {}
    assert cut_math(text).text == text


def test_code_span_does_not_reach_over_a_paragraph() -> None:
    assert [s.latex for s in cut_math("a ` b\n\n$x$ ` c").spans.values()] == ["x"]


def test_marks_are_letters_that_the_text_does_not_use() -> None:
    cut = cut_math("\ue000 $x$ \ue001 $y$")
    assert set(cut.spans) == {"\ue002", "\ue003"}
    assert cut.text == "\ue000 \ue002 \ue001 \ue003"


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="ab1 $`\\()[]\n\ue000", max_size=80))
def test_what_is_cut_out_can_be_put_back(text: str) -> None:
    cut = cut_math(text)
    assert cut.restored(cut.text) == text
