"""Drawings of formulas; what cannot be drawn right is refused, so that its source is shown."""

import warnings

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # ziamath's way to open its font
    from app.blocks.formula import LONGEST, typeset

DRAWN = [
    r"x^2",
    r"\frac{a}{b}",
    r"\sum_{i=0}^n i",
    r"\begin{pmatrix}1&2\\3&4\end{pmatrix}",
    r"\begin{align}a&=b\\c&=d\end{align}",
    r"\begin{cases}1&x\\2&y\end{cases}",
    r"\text{if } n \text{ is even}",
    r"A \setminus B",
    r"\mathbb{R} \to \mathcal{L}",
]


@pytest.mark.parametrize("latex", DRAWN)
def test_drawn(latex: str) -> None:
    formula = typeset(latex, display=True)
    assert formula is not None
    assert formula.width > 0
    assert formula.ascent + formula.descent > 0
    assert "currentColor" in formula.svg
    assert "<use" not in formula.svg


@pytest.mark.parametrize("latex", ["", r"\ce{H2O}", r"\foo", "日本", "x" * (LONGEST + 1)])
def test_refused(latex: str) -> None:
    assert typeset(latex, display=False) is None


def test_a_fraction_hangs_below_the_baseline() -> None:
    plain, fraction = typeset("x", display=False), typeset(r"\frac{1}{y}", display=False)
    assert plain is not None
    assert fraction is not None
    assert fraction.descent > plain.descent


def test_display_is_larger() -> None:
    small, large = (typeset(r"\frac{1}{y}", display=display) for display in (False, True))
    assert small is not None
    assert large is not None
    assert large.ascent > small.ascent
