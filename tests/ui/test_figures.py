"""Figures as people read them."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QLocale

from app.ui import figures


@pytest.mark.parametrize(
    ("words", "values", "expected"),
    [
        (figures.memory, (2_640_000_000,), "2.6 GB"),
        (figures.memory, (350_000_000,), "350 MB"),
        (
            figures.memory_of,
            (
                2_600_000_000,
                3_000_000_000,
            ),
            "2.6 of 3.0 GB",
        ),
        (
            figures.memory_of,
            (
                80_000_000,
                100_000_000,
            ),
            "80 of 100 MB",
        ),
        (figures.share, (0.714,), "71 %"),
        (figures.disk_rate, (2.94e9,), "2.9 GB/s"),
        (figures.disk_rate, (0,), "0 MB/s"),
        (figures.milliseconds, (84.6,), "85 ms"),
        (figures.milliseconds, (3.14,), "3.1 ms"),
        (figures.rate, (11.84,), "11.8"),
        (figures.rate, (240.4,), "240"),
        (figures.count, (32768,), "32,768"),
    ],
)
def test_words(words: Callable[..., str], values: tuple[float, ...], expected: str) -> None:
    assert words(*values) == expected


def test_figures_follow_the_language() -> None:
    QLocale.setDefault(QLocale("de_DE"))
    assert figures.memory(2_640_000_000) == "2,6 GB"
